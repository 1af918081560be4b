//! What may be reached, and how: private addresses, rebinding, proxies, redirects.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::upstream::{Upstream, reply};
use crate::client::{HttpClient, HttpOptions};
use crate::error::WireError;
use crate::proxy::Proxies;
use crate::reach::Lookup;
use crate::request::{Incoming, OutHeader, Outgoing};

/// A client that may reach loopback.
pub(super) fn local_options() -> HttpOptions {
    HttpOptions { allow_private: vec!["127.0.0.1".parse().unwrap()], ..HttpOptions::default() }
}

pub(super) fn local_client() -> HttpClient {
    HttpClient::new(local_options()).unwrap()
}

pub(super) fn get(url: &str) -> Outgoing {
    Outgoing {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout: Duration::from_secs(20),
        event_stream: false,
        pause: None,
        response_cap: 0,
        sign: None,
    }
}

pub(super) async fn send(client: &HttpClient, request: Outgoing) -> Result<Incoming, WireError> {
    client.send(request, pending()).await
}

/// Gives the addresses of each call in turn, the last for ever; counts the calls.
struct Scripted {
    answers: Vec<Vec<&'static str>>,
    calls: Mutex<Vec<String>>,
}

impl Scripted {
    fn of(answers: Vec<Vec<&'static str>>) -> Arc<Self> {
        Arc::new(Self { answers, calls: Mutex::default() })
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Lookup for Scripted {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut calls = self.calls.lock().unwrap();
        let answer = self.answers.get(calls.len()).or(self.answers.last()).cloned().unwrap_or_default();
        calls.push(name.to_owned());
        Box::pin(async move { Ok(answer.into_iter().map(|text| text.parse().unwrap()).collect()) })
    }
}

fn plain(mut options: HttpOptions, names: &[&str]) -> HttpOptions {
    options.allow_plain = names.iter().map(|name| name.parse().unwrap()).collect();
    options
}

#[tokio::test]
async fn loopback_is_reached_only_when_granted() {
    let server = Upstream::fixed(reply("200 OK", "", "ok")).await;
    let error = send(&HttpClient::new(HttpOptions::default()).unwrap(), get(&server.url("/"))).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(server.asked().is_empty());
    let answer = send(&local_client(), get(&server.url("/"))).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice(), answer.body_dropped), (200, b"ok".as_slice(), 0));
}

#[tokio::test]
async fn other_spellings_of_a_private_address_are_refused() {
    let client = HttpClient::new(HttpOptions::default()).unwrap();
    for url in [
        "https://2130706433/",
        "https://0x7f000001/",
        "https://127.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::]/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00:ec2::254]/",
        "https://0/",
    ] {
        assert_eq!(send(&client, get(url)).await.unwrap_err().kind(), "denied", "{url}");
    }
}

#[tokio::test]
async fn plain_http_is_for_loopback_or_what_was_granted() {
    let error = send(&local_client(), get("http://api.test/secret-path?key=hush")).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(error.to_string().contains("api.test"), "{error}");
    assert!(!error.to_string().contains("secret-path") && !error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused() {
    for address in ["10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00:ec2::254", "0.0.0.0"] {
        let lookup = Scripted::of(vec![vec![address]]);
        let client = HttpClient::with_lookup(HttpOptions::default(), lookup.clone()).unwrap();
        let error = send(&client, get("https://api.test/")).await.unwrap_err();
        assert_eq!(error.kind(), "denied", "{address}: {error}");
        assert_eq!(lookup.calls(), ["api.test"]);
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let server = Upstream::fixed(reply("200 OK", "connection: close\r\n", "ok")).await;
    let lookup = Scripted::of(vec![vec!["127.0.0.1"], vec!["169.254.169.254"]]);
    let client = HttpClient::with_lookup(plain(local_options(), &["api.test"]), lookup.clone()).unwrap();
    let url = format!("http://api.test:{}/", server.port);
    assert_eq!(send(&client, get(&url)).await.unwrap().status, 200);
    assert_eq!(send(&client, get(&url)).await.unwrap_err().kind(), "denied");
    assert_eq!((lookup.calls().len(), server.asked().len()), (2, 1));
}

#[tokio::test]
async fn of_several_addresses_only_the_allowed_are_tried() {
    let server = Upstream::fixed(reply("200 OK", "", "ok")).await;
    let lookup = Scripted::of(vec![vec!["10.255.255.1", "127.0.0.1", "169.254.169.254"]]);
    let client = HttpClient::with_lookup(plain(local_options(), &["api.test"]), lookup).unwrap();
    assert_eq!(send(&client, get(&format!("http://api.test:{}/", server.port))).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_grant_for_one_port_opens_no_other() {
    let (one, other) =
        (Upstream::fixed(reply("200 OK", "", "ok")).await, Upstream::fixed(reply("200 OK", "", "ok")).await);
    let allow_private = vec![format!("127.0.0.1:{}", one.port).parse().unwrap()];
    let options = plain(HttpOptions { allow_private, ..HttpOptions::default() }, &["api.test"]);
    let client = HttpClient::with_lookup(options, Scripted::of(vec![vec!["127.0.0.1"]])).unwrap();
    assert!(send(&client, get(&one.url("/"))).await.is_ok());
    assert_eq!(send(&client, get(&other.url("/"))).await.unwrap_err().kind(), "denied");
    assert!(send(&client, get(&format!("http://api.test:{}/", one.port))).await.is_ok());
    let error = send(&client, get(&format!("http://api.test:{}/", other.port))).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(other.asked().is_empty());
}

fn proxied(variables: &[(&str, String)]) -> HttpOptions {
    let map: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    HttpOptions { proxies: Proxies::from_map(&map).unwrap(), ..local_options() }
}

#[tokio::test]
async fn a_proxy_is_used_and_looks_the_name_up_itself() {
    let proxy = Upstream::fixed(reply("200 OK", "", "by proxy")).await;
    let lookup = Scripted::of(vec![vec!["127.0.0.1"]]);
    let mut options = plain(proxied(&[("HTTP_PROXY", format!("http://proxy.test:{}", proxy.port))]), &["api.test"]);
    options.allow_private.clear();
    let client = HttpClient::with_lookup(options, lookup.clone()).unwrap();
    let answer = send(&client, get("http://api.test/x")).await.unwrap();
    assert_eq!(answer.body, b"by proxy");
    assert_eq!(proxy.asked()[0].target, "http://api.test/x");
    assert_eq!(lookup.calls(), ["proxy.test"], "only the proxy is looked up");
    let error = send(&client, get(&format!("https://proxy.test:{}/", proxy.port))).await.unwrap_err();
    assert_eq!(error.kind(), "denied", "the proxy's name lets nobody into its network");
    let error = send(&client, get("https://10.0.0.1/")).await.unwrap_err();
    assert_eq!(error.kind(), "denied", "an address is judged although a proxy would connect");
}

#[tokio::test]
async fn https_goes_through_a_tunnel_that_the_proxy_may_refuse() {
    let proxy = Upstream::fixed(reply("403 Forbidden", "", "")).await;
    let client = HttpClient::new(proxied(&[("https_proxy", proxy.url(""))])).unwrap();
    let error = send(&client, get("https://api.test/x?key=hush")).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable", "{error}");
    let asked = proxy.asked();
    assert_eq!((asked[0].method.as_str(), asked[0].target.as_str()), ("CONNECT", "api.test:443"));
}

#[tokio::test]
async fn no_proxy_and_loopback_go_directly() {
    let (proxy, server) =
        (Upstream::fixed(reply("200 OK", "", "proxy")).await, Upstream::fixed(reply("200 OK", "", "server")).await);
    let options = proxied(&[("ALL_PROXY", proxy.url("")), ("NO_PROXY", "api.test".to_owned())]);
    let lookup = Scripted::of(vec![vec!["127.0.0.1"]]);
    let client = HttpClient::with_lookup(plain(options, &["api.test"]), lookup).unwrap();
    let direct = format!("http://api.test:{}/", server.port);
    assert_eq!(send(&client, get(&direct)).await.unwrap().body, b"server");
    let local = HttpClient::new(proxied(&[("ALL_PROXY", "http://127.0.0.2:1".to_owned())])).unwrap();
    assert_eq!(send(&local, get(&server.url("/"))).await.unwrap().body, b"server");
    assert!(proxy.asked().is_empty());
}

fn secret_get(url: &str) -> Outgoing {
    let header = OutHeader { name: "X-Api-Key".to_owned(), value: "hush".to_owned(), secret: true };
    Outgoing { headers: vec![header], ..get(url) }
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed_to_a_limit() {
    let server = Upstream::start(|asked, mut line| async move {
        let hop: u32 = asked.target.trim_start_matches('/').parse().unwrap();
        let bytes = match hop {
            0 => reply("200 OK", "", "there"),
            _ => reply("302 Found", &format!("location: /{}\r\n", hop - 1), ""),
        };
        tokio::io::AsyncWriteExt::write_all(&mut line, &bytes).await.ok()?;
        Some(line)
    })
    .await;
    let client = local_client();
    assert_eq!(send(&client, secret_get(&server.url("/3"))).await.unwrap().body, b"there");
    let asked = server.asked();
    assert!(asked.len() == 4 && asked.iter().all(|asked| asked.header("x-api-key") == Some("hush")));
    assert_eq!(send(&client, secret_get(&server.url("/4"))).await.unwrap_err().kind(), "invalid");
    let post = Outgoing { method: "POST".to_owned(), ..secret_get(&server.url("/1")) };
    assert_eq!(send(&client, post).await.unwrap_err().kind(), "denied");
}

#[tokio::test]
async fn no_redirect_leaves_the_origin() {
    let other = Upstream::fixed(reply("200 OK", "", "other")).await;
    for to in
        [other.url("/"), format!("//127.0.0.1:{}/", other.port), "https://api.test/".to_owned(), "ftp://x/".to_owned()]
    {
        let server = Upstream::fixed(reply("307 Temporary Redirect", &format!("location: {to}\r\n"), "")).await;
        let error = send(&local_client(), secret_get(&server.url("/"))).await.unwrap_err();
        assert_eq!(error.kind(), "denied", "{to}");
    }
    assert!(other.asked().is_empty());
    let server = Upstream::fixed(reply("302 Found", "", "")).await;
    assert_eq!(send(&local_client(), get(&server.url("/"))).await.unwrap_err().kind(), "denied");
    let server = Upstream::fixed(reply("304 Not Modified", &format!("location: {}\r\n", other.url("/")), "")).await;
    assert_eq!(send(&local_client(), get(&server.url("/"))).await.unwrap().status, 304);
}
