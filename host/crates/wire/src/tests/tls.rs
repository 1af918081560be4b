//! Trust: the system's roots, the user's bundle, and nothing else.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::addresses::{get, local_options, send};
use super::upstream::{Line, Upstream, reply};
use crate::client::{HttpClient, HttpOptions};

/// An authority's certificate, PEM, and the TLS of a server that it vouches for under the name `localhost`.
pub(super) fn acceptor(protocols: &[&[u8]]) -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// A client that trusts this authority.
pub(super) fn trusting(pem: &str) -> HttpClient {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    HttpClient::new(HttpOptions { ca_bundle: Some(file.path().to_owned()), ..options() }).unwrap()
}

async fn server() -> (String, Upstream) {
    let (pem, acceptor) = acceptor(&[]);
    let answer = |_, mut line: Line| async move {
        line.write_all(&reply("200 OK", "", "trusted")).await.ok()?;
        line.flush().await.ok()?;
        Some(line)
    };
    (pem, Upstream::start_with(answer, Some(acceptor)).await)
}

fn options() -> HttpOptions {
    HttpOptions { allow_private: vec!["localhost".parse().unwrap(), "127.0.0.1".parse().unwrap()], ..local_options() }
}

#[tokio::test]
async fn an_authority_of_the_bundle_is_trusted_and_no_other() {
    let (pem, server) = server().await;
    let url = format!("https://localhost:{}/x?key=hush", server.port);
    let error = send(&HttpClient::new(options()).unwrap(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), "tls", "{error}");
    assert!(error.to_string().contains("localhost") && !error.to_string().contains("hush"), "{error}");
    assert!(server.asked().is_empty());
    let trusting = trusting(&pem);
    assert_eq!(send(&trusting, get(&url)).await.unwrap().body, b"trusted");
    let elsewhere = format!("https://127.0.0.1:{}/", server.port);
    assert_eq!(
        send(&trusting, get(&elsewhere)).await.unwrap_err().kind(),
        "tls",
        "the certificate is for another name"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_not_asked_in_plain() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let served = tokio::spawn(async move {
        let (mut line, _) = listener.accept().await.unwrap();
        line.write_all(&reply("200 OK", "", "plain")).await.unwrap();
        let mut first = [0];
        line.read_exact(&mut first).await.unwrap();
        first[0]
    });
    let error = send(&HttpClient::new(options()).unwrap(), get(&url)).await.unwrap_err();
    assert_eq!(error.kind(), "tls", "{error}");
    assert_eq!(served.await.unwrap(), 22, "all that was sent is a TLS handshake");
}

#[test]
fn a_bundle_that_is_none_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        std::fs::write(file.path(), text).unwrap();
        let error = HttpClient::new(HttpOptions { ca_bundle: Some(file.path().to_owned()), ..options() }).unwrap_err();
        assert_eq!(error.kind(), "invalid");
        assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
    }
    let missing = HttpOptions { ca_bundle: Some("/nowhere/ca.pem".into()), ..options() };
    assert!(HttpClient::new(missing).unwrap_err().to_string().contains("/nowhere/ca.pem"));
}
