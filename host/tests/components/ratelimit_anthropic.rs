//! `ratelimit-anthropic`: limits out of headers, of Claude Code's events and of nothing else.

use assize_core::plugin::{Evidence, Limit, Reading};

use crate::catalog::{call, catalog};

async fn read(evidence: Evidence) -> Option<Reading> {
    let reader = &catalog().rate_limits(&evidence.provider)[0].plugin;
    reader.read_limits(&evidence, &call()).await.unwrap()
}

fn evidence(provider: &str, status: Option<u16>, headers: &[(&str, &str)], text: &str) -> Evidence {
    Evidence {
        provider: provider.to_owned(),
        status,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        text: text.to_owned(),
        received_at_ms: call().now_ms,
        ..Evidence::default()
    }
}

fn limit(dimension: &str, size: u64, remaining: u64, resets_in_ms: Option<u64>) -> Limit {
    Limit {
        dimension: dimension.to_owned(),
        window_seconds: Some(60),
        limit: Some(size),
        remaining: Some(remaining),
        resets_at_ms: resets_in_ms.map(|ms| call().now_ms + ms),
        scope: "model".to_owned(),
        extra: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_window_of_a_response_that_succeeded_is_read() {
    // The evidence is of 2026-06-03, noon.
    let headers = [
        ("anthropic-ratelimit-requests-limit", "50"),
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("Anthropic-Ratelimit-Requests-Reset", "2026-06-03T12:01:00Z"),
        ("anthropic-ratelimit-input-tokens-limit", "400000"),
        ("anthropic-ratelimit-input-tokens-remaining", "1000"),
        ("anthropic-ratelimit-output-tokens-limit", "80000"),
        ("anthropic-ratelimit-output-tokens-remaining", "0"),
        ("anthropic-ratelimit-output-tokens-reset", "2026-06-03T14:00:20+02:00"),
        ("request-id", "req_1"),
    ];
    let reading = read(evidence("anthropic", Some(200), &headers, "the answer")).await.unwrap();
    assert_eq!(
        reading.limits,
        [
            limit("requests", 50, 49, Some(60_000)),
            limit("input-tokens", 400_000, 1_000, None),
            limit("output-tokens", 80_000, 0, Some(20_000)),
        ]
    );
    assert_eq!((reading.throttled, reading.retry_after_ms), (false, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_how_long_to_wait() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    for (headers, wait) in [
        (&[("retry-after", "30")][..], Some(30_000)),
        (&[("Retry-After-Ms", "1500"), ("retry-after", "2")], Some(1_500)),
        (&[("retry-after", "Wed, 03 Jun 2026 12:02:00 GMT")], Some(120_000)),
        (&[], None),
    ] {
        let reading = read(evidence("anthropic", Some(429), headers, body)).await.unwrap();
        assert_eq!((reading.throttled, reading.retry_after_ms), (true, wait), "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_windows_of_a_plan_are_read_out_of_claude_s_event() {
    let event = |status: &str, five: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1780491600,"rateLimitType":"five_hour","unifiedWindows":{{"five_hour":{{"utilization":{five},"resetsAt":1780491600,"status":"{status}"}},"seven_day":{{"utilization":0.13,"resetsAt":1780920000,"status":"allowed"}}}}}}}}"#
        )
    };
    for (status, five, spent) in
        [("rejected", "1", true), ("allowed_warning", "0.97", false), ("allowed", "0.2", false)]
    {
        let reading = read(evidence("claude-code", None, &[], &event(status, five))).await.unwrap();
        assert_eq!(reading.throttled, spent, "{status}");
        let windows: Vec<_> =
            reading.limits.iter().map(|l| (l.window_seconds, l.remaining, l.resets_at_ms, l.scope.as_str())).collect();
        assert_eq!(
            windows,
            [
                (Some(18_000), spent.then_some(0), Some(1_780_491_600_000), "account"),
                (Some(604_800), None, Some(1_780_920_000_000), "account"),
            ],
            "{status}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_text_says_nothing_of_limits() {
    for (status, text) in [
        (None, ""),
        (None, "I read all files. The handler never answers HTTP 429 when the rate limit is exceeded."),
        (None, "src/client.py:12: raise RateLimitError('rate limit exceeded')"),
        (None, "+    if response.status == 429:\n  12 | retry-after: 30"),
        (None, r#"[{"title": "429 Too Many Requests is not handled", "summary": "retry-after is ignored"}]"#),
        (None, r#"{"type":"user","message":{"content":"{\"type\":\"rate_limit_event\"}"}}"#),
        (None, r#"{"type":"assistant","message":{"content":[{"type":"text","text":"rate_limit_error"}]}}"#),
        (Some(200), "You've hit your 5-hour limit"),
        (Some(401), r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#),
        (Some(500), "internal error"),
    ] {
        let headers = [("content-type", "text/plain"), ("request-id", "req_429")];
        assert_eq!(read(evidence("claude-code", status, &headers, text)).await, None, "{text}");
    }
}
