//! TLS: the system's roots and the user's bundle; nothing can switch the checks off.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::error::WireError;

/// Whom a client trusts.
pub(crate) struct Trust {
    bundle: Vec<CertificateDer<'static>>,
    /// Reading the system's roots takes a while, and whoever speaks to loopback alone needs none.
    config: OnceLock<ClientConfig>,
}

impl Trust {
    /// Reads the bundle, so that one of no use is known at once.
    pub fn with_bundle(path: Option<&Path>) -> Result<Self, WireError> {
        let bundle = path.map(read_bundle).transpose()?.unwrap_or_default();
        Ok(Self { bundle, config: OnceLock::new() })
    }

    /// For connections with TLS. The library that finds the system's roots honours `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    /// A system without roots is no error: then only the bundle is trusted.
    pub fn config(&self) -> Result<ClientConfig, WireError> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let mut roots = RootCertStore::empty();
        // Single roots that cannot be read are the system's problem, and the others still hold.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.bundle.iter().cloned());
        let config = build(roots)?;
        Ok(self.config.get_or_init(|| config).clone())
    }

    /// For connections without TLS: should one need it all the same, nobody is trusted.
    pub fn none() -> Result<ClientConfig, WireError> {
        build(RootCertStore::empty())
    }
}

fn build(roots: RootCertStore) -> Result<ClientConfig, WireError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| WireError::Build(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn read_bundle(path: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let refuse = |reason: String| WireError::CaBundle { path: path.to_owned(), reason };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refuse(error.to_string()))?;
    if certificates.is_empty() {
        return Err(refuse("it holds no certificate".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(certificates)
}
