//! Vectors: evidence in, the whole reading out.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    title: String,
    #[serde(default)]
    evidence: Evidence,
    reading: Option<Reading>,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../../tests/vectors.json")).expect("vectors")
}

#[test]
fn every_vector_reads_as_it_says() {
    let wrong: Vec<String> = vectors()
        .iter()
        .filter_map(|vector| {
            let came = read_evidence(&vector.evidence);
            (came != vector.reading)
                .then(|| format!("{}:\n  expected {:?}\n  came     {came:?}", vector.title, vector.reading))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_enough_vectors_on_both_sides() {
    let (none, some): (Vec<_>, Vec<_>) = vectors().into_iter().partition(|vector| vector.reading.is_none());
    assert!(some.len() >= 40 && none.len() >= 25, "{} and {}", some.len(), none.len());
}

#[test]
fn the_text_of_a_refusal_quoted_in_a_listing_says_nothing() {
    for vector in
        vectors().iter().filter(|vector| vector.evidence.status.is_none() && vector.evidence.headers.is_empty())
    {
        for lead in ["> ", "12 | ", "// ", "src/a.rs:429: ", "the page says: "] {
            let text: Vec<String> = vector.evidence.text.lines().map(|line| format!("{lead}{line}")).collect();
            let quoted = Evidence { text: text.join("\n"), ..vector.evidence.clone() };
            assert_eq!(read_evidence(&quoted), None, "{lead}{}", vector.title);
        }
    }
}

#[test]
fn nothing_that_comes_from_outside_stops_the_reader() {
    let long = "[".repeat(200_000);
    let headers = ["99999999999999999999999", "-1", "NaN", "inf", "1e400", "", "²", "999999999999999999"];
    for value in headers {
        let names = [
            "retry-after",
            "retry-after-ms",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-tokens-reset",
            "anthropic-ratelimit-unified-5h-reset",
        ];
        let headers = names.iter().map(|name| ((*name).to_owned(), value.to_owned())).collect();
        let _ = read_evidence(&Evidence { headers, received_at_ms: u64::MAX, ..Evidence::default() });
    }
    for text in [
        long.as_str(),
        "You've hit your limit · resets 99:99pm (UTC+99:99)",
        "You've hit your limit · resets Feb 31, 3pm (UTC)",
        "You've hit your limit · resets ü",
        "You've hit your limit · resets 1:ü",
        "You've hit your limit · resets 3pm (UTC+ü)",
        "You've hit your limit · resets in 9999999999999999999999999h",
        "Claude AI usage limit reached|99999999999999999999999999",
        "API Error: ü",
        "API Error: 42ü",
        "\u{1b}[",
    ] {
        for received_at_ms in [0, 1_780_488_000_000, u64::MAX] {
            let _ = read_evidence(&Evidence { text: text.to_owned(), received_at_ms, ..Evidence::default() });
        }
    }
}

#[test]
fn a_long_text_is_read_from_its_end() {
    let text = format!("HTTP 429\n{}", "ä\n".repeat(64 * 1024));
    assert_eq!(read_evidence(&Evidence { text, ..Evidence::default() }), None);
    let text = format!("{}HTTP 429", "ä\n".repeat(64 * 1024));
    assert!(read_evidence(&Evidence { text, ..Evidence::default() }).is_some_and(|reading| reading.throttled));
}
