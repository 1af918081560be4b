//! Calls of well-behaved plugins, and what they see.

use assize_core::fact::{Fact, FileFacts, Span};
use assize_core::plugin::{Evidence, PluginError};
use assize_sandbox::{CallContext, CallError, LogLevel};

use crate::guests::{heard_call, plugin};

const SPAN: Span = Span { start_line: 1, start_column: 2, end_line: 3, end_column: 4, start_byte: 5, end_byte: 6 };

#[tokio::test]
async fn facts_come_out_as_the_analyzer_made_them() {
    let (call, heard) = heard_call();
    let plugin = plugin("honest_analyzer");
    let facts = plugin.inspect("a/b.rs", "rust", "text ü".as_bytes(), "{}", &call).await.expect("facts");
    let [
        Fact::Finding(finding),
        Fact::Import(import),
        Fact::Definition(_),
        Fact::Reference(_),
        Fact::Route(route),
        Fact::Suppression(_),
        Fact::Metric(metric),
    ] = &facts[..]
    else {
        panic!("{facts:?}");
    };
    assert_eq!((finding.quote.as_str(), finding.span, finding.cwe.as_deref()), ("text ü", SPAN, Some("CWE-1")));
    assert_eq!(finding.extra, [("k".to_owned(), "v".to_owned())]);
    assert_eq!((import.specifier.as_str(), import.kind.as_str()), ("a/b.rs", "rust"));
    assert_eq!((route.method.as_str(), &route.handler), ("GET", &None));
    assert_eq!((metric.value, metric.span), (7.0, None));
    let logs = heard.take();
    assert_eq!((logs.len(), logs[0].plugin.as_str(), logs[0].dropped_lines), (1, "honest-analyzer", 0));
    assert_eq!(logs[0].lines[0].level, LogLevel::Debug);
    assert_eq!(logs[0].lines[0].fields, [("path".to_owned(), "a/b.rs".to_owned())]);
}

#[tokio::test]
async fn facts_go_back_in_to_be_related() {
    let plugin = plugin("honest_analyzer");
    let call = CallContext::default();
    let facts = plugin.inspect("a", "rust", b"x", "{}", &call).await.expect("facts");
    let file = |path: &str, facts| FileFacts {
        path: path.to_owned(),
        language: "rust".to_owned(),
        analyzer: "honest-analyzer".to_owned(),
        facts,
    };
    let files = [file("a", facts), file("b", Vec::new())];
    let paths = ["a".to_owned(), "b".to_owned()];
    let relations = plugin.relate(&files, &paths, "{}", &call).await.expect("relations");
    let seen: Vec<_> = relations.iter().map(|r| (r.source.as_str(), r.target.as_str(), r.confidence)).collect();
    assert_eq!(seen, [("a", "b", 0.875), ("b", "a", 0.0)]);
    assert_eq!(relations[0].span, SPAN);
    let error = plugin.relate(&[], &paths, "{}", &call).await.expect_err("no files");
    assert_eq!(error, refusal("honest-analyzer", PluginError::Unsupported("no files".to_owned())));
}

#[tokio::test]
async fn reports_are_read() {
    let seen = plugin("honest_analyzer").import_report("sarif", b"p.rs", &CallContext::default()).await.expect("read");
    assert_eq!(
        (seen[0].analyzer.as_str(), seen[0].path.as_str(), seen[0].finding.quote.as_str()),
        ("sarif", "p.rs", "q")
    );
}

#[tokio::test]
async fn limits_are_read_from_evidence() {
    let plugin = plugin("honest_rate_limit");
    let evidence = Evidence {
        provider: "honest".to_owned(),
        model: Some("m".to_owned()),
        status: Some(429),
        headers: vec![("left".to_owned(), "0".to_owned()), ("other".to_owned(), "1".to_owned())],
        text: "four".to_owned(),
        received_at_ms: 41,
        extra: vec![("x".to_owned(), "y".to_owned())],
    };
    let reading = plugin.read_limits(&evidence, &CallContext::default()).await.expect("read").expect("a reading");
    assert!(reading.throttled);
    assert_eq!((reading.retry_after_ms, reading.limits.len()), (Some(4), 1));
    let limit = &reading.limits[0];
    assert_eq!((limit.remaining, limit.resets_at_ms, limit.limit), (Some(0), Some(42), None));
    assert_eq!((limit.scope.as_str(), &limit.extra), ("m", &evidence.extra));
    let nothing = plugin.read_limits(&Evidence::default(), &CallContext::default()).await.expect("read");
    assert_eq!(nothing, None);
}

#[tokio::test]
async fn errors_of_a_plugin_are_its_own() {
    let plugin = plugin("honest_analyzer");
    let call = CallContext::default();
    let error = plugin.inspect("a", "", b"x", "bad", &call).await.expect_err("configuration");
    assert_eq!(error, refusal("honest-analyzer", PluginError::InvalidConfiguration("bad".to_owned())));
    let error = plugin.inspect("a", "", b"\xff", "{}", &call).await.expect_err("not text");
    assert!(matches!(error, CallError::Plugin { error: PluginError::MalformedInput(_), .. }), "{error}");
}

fn refusal(plugin: &str, error: PluginError) -> CallError {
    CallError::Plugin { plugin: plugin.to_owned(), error }
}

#[tokio::test]
async fn a_call_of_another_kind_is_refused() {
    let error = plugin("honest_rate_limit").inspect("a", "", b"", "{}", &CallContext::default()).await;
    let error = error.expect_err("wrong kind");
    assert_eq!(error.to_string(), "plugin `honest-rate-limit` is of the kind rate-limit, not analyzer");
}

async fn look(call: &CallContext) -> String {
    match plugin("look_around").inspect("a", "", b"x", "{}", call).await {
        Err(CallError::Plugin { error: PluginError::Internal(text), .. }) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_plugin_sees_nothing_of_the_world() {
    let call = CallContext { now_ms: 1_700_000_000_123, seed: [7; 32], ..CallContext::default() };
    let seen = look(&call).await;
    // Arguments, variables, now, nanoseconds that passed, files, bytes of input, randomness.
    assert!(seen.starts_with("0 0 1700000000123 0 false 0 "), "{seen}");
    assert_eq!(look(&call).await, seen, "the same seed gives the same randomness");
    let other = look(&CallContext { seed: [8; 32], ..call }).await;
    assert_ne!(other, seen, "another seed gives other randomness");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_plugin_run_at_once() {
    let plugin = plugin("honest_analyzer");
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let plugin = plugin.clone();
            tokio::spawn(async move {
                let text = number.to_string();
                let facts = plugin.inspect(&text, "", text.as_bytes(), "{}", &CallContext::default()).await;
                matches!(&facts.expect("facts")[0], Fact::Finding(finding) if finding.quote == text)
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.expect("no panic"));
    }
}
