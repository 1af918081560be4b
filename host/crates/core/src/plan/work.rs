//! Counts steps in tests, so that a law about growth can be stated without a clock. Outside tests it is nothing.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One step of a loop whose length must stay near the size of the input.
#[inline]
pub(super) fn tick() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// Steps since the last call.
#[cfg(test)]
pub(super) fn take() -> u64 {
    STEPS.with(|steps| steps.replace(0))
}
