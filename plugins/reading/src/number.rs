//! Numbers in the forms that services write. What is negative or has words in it is unknown, never zero.

/// A count: digits only. More than fits is the most that fits, because such a limit is none.
pub fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// A number without sign, exponent or words.
pub fn parse_decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text != ".";
    if !plain { None } else { text.parse().ok() }
}

/// A whole number of milliseconds; absent for what no wait or instant can be.
pub fn whole(number: f64) -> Option<u64> {
    // Until the year 9999: more than that is no instant.
    (number.is_finite() && (0.0..2.6e14).contains(&number)).then(|| number.round() as u64)
}
