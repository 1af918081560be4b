//! The corpus of limits under `tests/data/limits`: evidence in the shapes of real services and programs, and what is
//! right to read from each, by hand. All readers are asked in the host's order.
#![allow(clippy::unwrap_used, reason = "a corpus that cannot be read is a failure of the test")]

mod cases;
mod score;

use std::collections::{BTreeMap, BTreeSet};

use assize_reading::{Evidence, LimitReader, Reading};
use cases::{Case, corpus};
use ratelimit_anthropic::Anthropic;
use ratelimit_cli::Cli;
use ratelimit_generic::Generic;
use ratelimit_google::Google;
use ratelimit_openai::OpenAi;
use score::{Score, score};

type Read = fn(&Evidence) -> Option<Reading>;

const READERS: [(&str, Read); 5] = [
    ("anthropic", Anthropic::read),
    ("openai", OpenAi::read),
    ("google", Google::read),
    ("cli", Cli::read),
    ("generic", Generic::read),
];

/// The first answer: the reader of the provider's name, the reader of programs for text without a response, the rest.
fn read(evidence: &Evidence) -> Option<Reading> {
    let named: [(&[&str], Read); 3] =
        [(Anthropic::PROVIDERS, Anthropic::read), (OpenAi::PROVIDERS, OpenAi::read), (Google::PROVIDERS, Google::read)];
    let by_name = named.iter().filter(|(names, _)| names.contains(&evidence.provider.as_str()));
    by_name.map(|(_, read)| *read).chain([Cli::read as Read, Generic::read]).find_map(|read| read(evidence))
}

/// A reading in an order of its own, so that the order of limits and of their extras does not count.
fn ordered(reading: Option<Reading>) -> Option<Reading> {
    reading.map(|mut reading| {
        for limit in &mut reading.limits {
            limit.extra.sort();
        }
        reading.limits.sort_by_key(|limit| format!("{limit:?}"));
        reading
    })
}

#[test]
fn every_case_reads_as_it_says() {
    let wrong: Vec<String> = corpus()
        .into_iter()
        .filter_map(|case| {
            let (came, right) = (ordered(read(&case.evidence)), ordered(case.reading));
            (came != right).then(|| format!("{} {}\n  right {right:?}\n  came  {came:?}", case.kind, case.id))
        })
        .collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn precision_and_recall_of_every_field_are_whole() {
    let cases = corpus();
    let scores: BTreeMap<&str, Score> = score(&cases, read);
    for (field, score) in &scores {
        println!("{field:<16} precision {:.3} recall {:.3} of {}", score.precision(), score.recall(), score.right);
    }
    assert_eq!(scores.len(), 9, "{scores:?}");
    for (field, score) in scores {
        assert!(score.right > 0, "{field} is in no case");
        assert!(score.precision() == 1.0 && score.recall() == 1.0, "{field}: {score:?}");
    }
}

#[test]
fn what_is_no_limit_is_one_to_none_of_the_readers() {
    let negatives: Vec<Case> = corpus().into_iter().filter(|case| case.reading.is_none()).collect();
    for (name, read) in READERS {
        for case in &negatives {
            assert_eq!(read(&case.evidence), None, "{name} on {}", case.id);
        }
    }
}

#[test]
fn the_corpus_is_large_on_both_sides_and_has_every_service() {
    let cases = corpus();
    let ids: BTreeSet<_> = cases.iter().map(|case| (&case.kind, &case.id)).collect();
    assert_eq!(ids.len(), cases.len(), "an id stands for two cases");
    let negatives = cases.iter().filter(|case| case.reading.is_none()).count();
    assert!(negatives >= 60 && cases.len() >= negatives + 150, "{negatives} of {}", cases.len());
    for provider in [
        "anthropic",
        "azure",
        "bedrock",
        "cerebras",
        "claude-code",
        "codex",
        "cohere",
        "copilot",
        "cursor",
        "gemini",
        "github-models",
        "google",
        "groq",
        "mistral",
        "openai",
        "opencode",
        "openrouter",
        "qwen",
        "aider",
        "xai",
    ] {
        assert!(cases.iter().any(|case| case.provider == provider && case.reading.is_some()), "{provider}");
    }
}

#[test]
fn the_order_and_case_of_headers_do_not_count() {
    for case in corpus().into_iter().filter(|case| !case.evidence.headers.is_empty()) {
        let mut turned = case.evidence.clone();
        turned.headers.reverse();
        for (name, _) in &mut turned.headers {
            *name = name
                .chars()
                .map(|c| if name.len() % 2 == 0 { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
                .collect();
        }
        assert_eq!(read(&turned), read(&case.evidence), "{}", case.id);
    }
}

#[test]
fn a_refusal_that_is_quoted_in_a_listing_says_nothing() {
    let texts = corpus().into_iter().filter(|case| case.evidence.status.is_none() && case.evidence.headers.is_empty());
    for case in texts {
        for lead in ["> ", "12 | ", "// ", "+    ", "src/a.rs:429: ", "the page says: ", "\"", "- "] {
            let text: Vec<String> = case.evidence.text.lines().map(|line| format!("{lead}{line}")).collect();
            let quoted = Evidence { text: text.join("\n"), ..case.evidence.clone() };
            for (name, read) in READERS {
                assert_eq!(read(&quoted), None, "{name} on {lead}{}", case.id);
            }
        }
    }
}

#[test]
fn no_mutation_of_the_corpus_stops_a_reader() {
    let cases = corpus();
    let mut seed = 0x5DEE_CE66_D1CE_5EED_u64;
    // A multiplicative generator: the rounds are the same in every run.
    let mut next = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below.max(1)
    };
    const STRANGE: [&str; 12] =
        ["", "ü", "\u{2019}", "-1", "99999999999999999999", "{", "}", ":", "(", "\u{1b}[", "0", "e400"];
    for _ in 0..20_000 {
        let mut evidence = cases[next(cases.len())].evidence.clone();
        for _ in 0..=next(4) {
            let mut places: Vec<&mut String> = evidence.headers.iter_mut().flat_map(|(n, v)| [n, v]).collect();
            places.push(&mut evidence.text);
            let count = places.len();
            let place = places.swap_remove(next(count));
            let mut chars: Vec<char> = place.chars().collect();
            let at = next(chars.len() + 1);
            match next(3) {
                0 => chars.truncate(at),
                1 => drop(chars.splice(at..at, STRANGE[next(STRANGE.len())].chars())),
                _ => {
                    let end = (at + next(6)).min(chars.len());
                    chars.drain(at..end);
                }
            }
            *place = chars.into_iter().collect();
        }
        evidence.received_at_ms = [0, evidence.received_at_ms, u64::MAX][next(3)];
        for (_, read) in READERS {
            if let Some(reading) = read(&evidence) {
                assert!(!reading.is_empty(), "{evidence:?}");
            }
        }
    }
}
