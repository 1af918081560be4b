//! Counts in sentences: one thing is, several things are.

use std::collections::BTreeMap;

use super::escape::inline;

/// A count with its noun: `1 file`, `2 files`. The plural is the noun with an `s`.
pub(super) fn count_of(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun alone, in the form that goes with the count.
pub(super) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// The verb that goes with the count.
pub(super) fn is_or_are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// What is left to do: of all required reviews and tasks.
pub(super) fn open_work(open: u64, required: u64, parked: u64) -> String {
    format!(
        "{open} of {} {} open and {} {} parked",
        count_of(required, "required review"),
        is_or_are(open),
        count_of(parked, "task"),
        is_or_are(parked)
    )
}

/// The length of a list as a count.
pub(super) fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

/// Counts by word in brackets, with a blank before; nothing where there are none.
pub(super) fn counts(of: &BTreeMap<String, u64>) -> String {
    if of.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = of.iter().map(|(word, count)| format!("{count} {}", inline(word))).collect();
    format!(" ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_and_several_are() {
        assert_eq!((count_of(1, "file"), count_of(0, "file")), ("1 file".to_owned(), "0 files".to_owned()));
        assert_eq!(open_work(1, 1, 2), "1 of 1 required review is open and 2 tasks are parked");
        assert_eq!(open_work(2, 4, 1), "2 of 4 required reviews are open and 1 task is parked");
    }
}
