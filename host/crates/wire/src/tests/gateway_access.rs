//! Who may use a gateway, for what, and what then arrives at the upstream.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::program::{Rule, SECRET, Served, Setup, TOKEN, Told, body_of, head_of};
use super::upstream::{Upstream, reply, soon};
use crate::client::{HttpClient, HttpOptions};
use crate::gateway::{Gateway, GatewayOptions, Inject, Refused};

async fn refused(served: &mut Served) -> Refused {
    match soon(served.told.recv()).await.unwrap() {
        Told::Refused(refused) => refused,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_is_mirrored_and_its_token_becomes_the_secret() {
    let upstream =
        Upstream::fixed(reply("200 OK", "x-up: 1\r\nkeep-alive: 5\r\nconnection: x-hop\r\nx-hop: 1\r\n", "fine")).await;
    let mut served = Setup { path: "/base/", ..Setup::injecting() }.open(&upstream).await;
    let headers = format!(
        "X-Api-Key: {TOKEN}\r\nauthorization: Bearer other\r\nx-own: kept\r\nte: trailers\r\nkeep-alive: 3\r\naccept-encoding: br, gzip\r\nexpect: 100-continue\r\n"
    );
    let body = r#"{"model":"m","max_tokens":9}"#;
    let answer = served.ask("POST", "/v1/messages?beta=true&x=%2F", &headers, body).await;
    assert!(answer.contains("200 OK\r\n") && answer.ends_with("fine"), "{answer}");
    assert!(answer.contains("x-up: 1") && !answer.contains("x-hop") && !answer.contains("keep-alive: 5"), "{answer}");
    let asked = &upstream.asked()[0];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/base/v1/messages?beta=true&x=%2F"));
    assert_eq!(asked.body, body.as_bytes());
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(asked.header("host"), Some(format!("127.0.0.1:{}", upstream.port).as_str()));
    assert_eq!((asked.header("x-own"), asked.header("accept-encoding")), (Some("kept"), Some("identity")));
    assert!(["x-api-key", "te", "keep-alive", "expect"].iter().all(|name| asked.header(name).is_none()), "{asked:?}");
    assert!(!format!("{asked:?}").contains(TOKEN));
    let Told::Asked(ask) = served.told.recv().await.unwrap() else { panic!("asked first") };
    assert_eq!(
        (ask.path.as_str(), ask.model.as_deref(), ask.max_output_tokens),
        ("/base/v1/messages", Some("m"), Some(9))
    );
    let seen = served.seen().await;
    assert_eq!((seen.ticket, seen.status, seen.complete), (7, Some(200), true));
    assert_eq!(
        (seen.path.as_str(), seen.request_bytes, seen.response_bytes),
        ("/base/v1/messages", body.len() as u64, 4)
    );
    assert_eq!(seen.request_digest, blake3::hash(body.as_bytes()).to_hex().to_string());
    assert_eq!(seen.response_digest, blake3::hash(b"fine").to_hex().to_string());
    assert_eq!(seen.host, format!("127.0.0.1:{}", upstream.port));
}

#[tokio::test]
async fn without_a_secret_the_programs_own_credential_passes() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let served = Setup::default().open(&upstream).await;
    served.ask("GET", "/v1/models?key=own", "authorization: Bearer own\r\nx-goog-api-key: own2\r\n", "").await;
    let asked = &upstream.asked()[0];
    assert_eq!((asked.header("authorization"), asked.header("x-goog-api-key")), (Some("Bearer own"), Some("own2")));
    assert_eq!(asked.target, "/v1/models?key=own");
}

#[tokio::test]
async fn a_wrong_token_is_refused_in_the_protocols_shape_and_told() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let mut served = Setup::injecting().open(&upstream).await;
    for (path, member) in [
        ("/wrong/v1/messages", "\"type\":\"error\""),
        ("/wrong/v1beta/models/g:generateContent", "\"status\":\"PERMISSION_DENIED\""),
        ("/v1/responses", "\"code\":\"gateway_token\""),
    ] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: wrong\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        let answer = served.raw(&request).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(member), "{answer}");
        assert_eq!(refused(&mut served).await, Refused { method: "POST".to_owned(), status: 403, reason: "token" });
    }
    assert!(upstream.asked().is_empty());
}

#[tokio::test]
async fn the_token_in_the_place_of_a_key_authorises_where_the_host_injects() {
    let upstream = Upstream::fixed(reply("200 OK", "", "ok")).await;
    let served = Setup::injecting().open(&upstream).await;
    let answer =
        served.raw(&format!("GET /v1/x?alt=sse&key={TOKEN} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await;
    assert!(answer.ends_with("ok"), "{answer}");
    let answer = served
        .raw(&format!("GET /v1/y HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: bearer {TOKEN}\r\n\r\n"))
        .await;
    assert!(answer.ends_with("ok"), "{answer}");
    let asked = upstream.asked();
    assert_eq!((asked[0].target.as_str(), asked[1].target.as_str()), ("/v1/x?alt=sse", "/v1/y"));
    assert!(asked.iter().all(|asked| asked.header("authorization") == Some(&format!("Bearer {SECRET}"))));
}

#[tokio::test]
async fn only_the_upstream_is_reached_whatever_host_is_named() {
    let (upstream, other) =
        (Upstream::fixed(reply("200 OK", "", "up")).await, Upstream::fixed(reply("200 OK", "", "no")).await);
    let served = Setup::default().open(&upstream).await;
    let segment = served.segment();
    let port = other.port;
    for request in [
        format!(
            "GET http://127.0.0.1:{port}{segment}/a HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"
        ),
        format!("GET {segment}//127.0.0.1:{port}/a HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"),
        format!("GET {segment}/@127.0.0.1:{port}/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    ] {
        let answer = served.raw(&request).await;
        assert!(answer.ends_with("up"), "{request}: {answer}");
    }
    assert_eq!((upstream.asked().len(), other.asked().len()), (3, 0));
}

#[tokio::test]
async fn a_path_cannot_climb_out_of_the_upstreams() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let mut served = Setup { path: "/team/a", ..Setup::default() }.open(&upstream).await;
    for target in ["/../b", "/x/../../b", "/%2e%2e/b", "/..%5cb/../../../c", "/../ab"] {
        let answer = served.ask("GET", target, "", "").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{target}: {answer}");
        assert_eq!(refused(&mut served).await.reason, "target");
    }
    assert!(served.ask("GET", "/x/../y", "", "").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(upstream.asked()[0].target, "/team/a/y");
}

#[tokio::test]
async fn tunnels_and_sockets_are_refused_cleanly() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let mut served = Setup::default().open(&upstream).await;
    let answer = served.raw("CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    assert_eq!(refused(&mut served).await.reason, "connect");
    let segment = served.segment();
    let answer = served
        .raw(&format!("GET {segment}/v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: a\r\nsec-websocket-version: 13\r\n\r\nGET {segment}/v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
        .await;
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    assert!(answer.contains("HTTP/1.1 200 OK"), "the connection serves on: {answer}");
    assert_eq!(refused(&mut served).await.reason, "upgrade");
}

#[tokio::test]
async fn a_refusal_of_the_meter_is_a_429_that_says_when() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let served = Setup { rule: Rule::Refuse(12_345), ..Setup::injecting() }.open(&upstream).await;
    for (path, member) in [
        ("/v1/messages", "\"type\":\"rate_limit_error\""),
        ("/v1/chat/completions", "\"code\":\"rate_limit_exceeded\""),
        ("/v1beta/models/g:streamGenerateContent", "\"retryDelay\":\"12.345s\""),
    ] {
        let answer = served.ask("POST", path, "", "{}").await;
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        let head = head_of(&answer);
        assert!(head.contains("retry-after: 13\r\n") && head.contains("retry-after-ms: 12345\r\n"), "{answer}");
        assert!(body_of(&answer).contains(member) && answer.contains("window spent"), "{answer}");
    }
    assert!(upstream.asked().is_empty());
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_unread() {
    let upstream = Upstream::fixed(reply("200 OK", "", "")).await;
    let mut served = Setup::default().open(&upstream).await;
    let segment = served.segment();
    let answer = served
        .raw(&format!(
            "POST {segment}/v1/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\n"
        ))
        .await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(refused(&mut served).await.reason, "too-large");
}

#[tokio::test]
async fn keep_alive_head_and_expectations_work() {
    let upstream = Upstream::start(|asked, mut line| async move {
        let bytes = match asked.method.as_str() {
            "HEAD" => b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n".to_vec(),
            _ => reply("200 OK", "", "hello"),
        };
        tokio::io::AsyncWriteExt::write_all(&mut line, &bytes).await.ok()?;
        Some(line)
    })
    .await;
    let mut served = Setup::default().open(&upstream).await;
    let segment = served.segment();
    let answer = served
        .raw(&format!("HEAD {segment}/ HTTP/1.1\r\nhost: x\r\n\r\nPOST {segment}/b HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\nconnection: close\r\n\r\nz"))
        .await;
    let heads: Vec<&str> = answer.lines().filter(|line| line.starts_with("HTTP/1.1 ")).collect();
    assert!(
        heads.len() >= 2 && heads.iter().all(|head| head.ends_with("200 OK") || head.ends_with("100 Continue")),
        "{answer}"
    );
    assert!(answer.ends_with("hello") && answer.matches("hello").count() == 1, "{answer}");
    assert!(served.seen().await.complete && served.seen().await.complete);
    assert_eq!(upstream.asked()[1].body, b"z");
}

#[tokio::test]
async fn what_cannot_be_a_gateway_is_refused_at_its_opening() {
    let open = |client: HttpClient, upstream: &str, inject: Option<Inject>| {
        let (sender, _) = tokio::sync::mpsc::unbounded_channel();
        let options = GatewayOptions {
            client,
            upstream: upstream.to_owned(),
            inject,
            meter: super::program::meter(Rule::Go, sender),
            token: TOKEN.to_owned(),
            idle_timeout: std::time::Duration::from_secs(1),
        };
        async move { Gateway::open(options).await.unwrap_err() }
    };
    let client = || HttpClient::new(HttpOptions::default()).unwrap();
    for (upstream, kind) in [
        ("http://127.0.0.1:1/", "denied"),
        ("http://api.test/", "denied"),
        ("https://10.0.0.1/", "denied"),
        ("https://api.test/?a=b", "invalid"),
        ("https://user@api.test/", "invalid"),
        ("nonsense", "invalid"),
    ] {
        assert_eq!(open(client(), upstream, None).await.kind(), kind, "{upstream}");
    }
    for (header, secret) in [("x y", "s"), ("x-api-key", "two\r\nlines")] {
        let inject = Inject { header: header.to_owned(), prefix: String::new(), secret: secret.to_owned() };
        let error = open(client(), "https://api.test/", Some(inject)).await;
        assert!(error.kind() == "invalid" && !error.to_string().contains("two"), "{error}");
    }
}
