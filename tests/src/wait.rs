//! Waiting for something that another process does.

use std::thread;
use std::time::{Duration, Instant};

/// Pause between two looks. What is waited for has no event that a test could block on.
const LOOK: Duration = Duration::from_millis(4);

/// Waits until the condition holds.
///
/// # Panics
/// When it does not within the limit.
pub fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < end, "waited {limit:?} in vain: {what}");
        thread::park_timeout(LOOK);
    }
}
