//! Times as the services write them.

use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};

/// A duration as programs in Go print it: `6m0s`, `1.5s`, `120ms`.
pub fn render_go_duration(ms: u64) -> String {
    if ms < 1_000 {
        return format!("{ms}ms");
    }
    let (minutes, rest) = (ms / 60_000, ms % 60_000);
    let seconds = render_decimal(rest);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Seconds with as many decimals as it takes, as Protocol Buffers write durations: `2.5s`.
pub fn render_seconds(ms: u64) -> String {
    format!("{}s", render_decimal(ms))
}

fn render_decimal(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The date of HTTP so many milliseconds from now, never too early.
pub fn render_http_date(now: Timestamp, ms: u64) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&later(now, ms)).unwrap_or_default()
}

/// The whole second so many milliseconds from now, never too early.
pub fn later(now: Timestamp, ms: u64) -> Timestamp {
    let wait = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    let at = now.checked_add(wait).unwrap_or(now);
    let seconds = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_the_services_do() {
        let go: Vec<String> = [0, 120, 1_000, 7_660, 360_000, 3_723_000].into_iter().map(render_go_duration).collect();
        assert_eq!(go.join(" "), "0ms 120ms 1s 7.66s 6m0s 1h2m3s");
        assert_eq!((render_seconds(2_500), render_seconds(26_000)), ("2.5s".to_owned(), "26s".to_owned()));
    }

    #[test]
    fn dates_are_whole_seconds_and_never_too_early() {
        let now: Timestamp = "2026-01-02T03:04:05.250Z".parse().unwrap();
        assert_eq!(render_http_date(now, 1_000), "Fri, 02 Jan 2026 03:04:07 GMT");
        assert_eq!(later(now, u64::MAX), later(now, 0));
    }
}
