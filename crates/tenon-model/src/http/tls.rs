//! TLS settings: ring's cryptography, HTTP/1.1, and roots from the system, else Mozilla's list.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::configuration;
use crate::provider::ProviderError;

/// Returns settings that trust nobody: for addresses that are reached without TLS.
pub(super) fn without_roots() -> Result<ClientConfig, ProviderError> {
    settings(RootCertStore::empty())
}

/// Returns settings that trust the system's authorities (Mozilla's where the system has none) and
/// those in `extra_ca_pem`.
pub(super) fn with_roots(extra_ca_pem: &[Vec<u8>]) -> Result<ClientConfig, ProviderError> {
    let mut roots = RootCertStore::empty();
    // Errors of single files do not matter as long as some authority was found.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for pem in extra_ca_pem {
        let mut found = false;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let added = certificate
                .map_err(|error| error.to_string())
                .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
            added.map_err(|words| {
                configuration(format!("A certificate authority's file cannot be read: {words}"))
            })?;
            found = true;
        }
        if !found {
            return Err(configuration("A certificate authority's file holds no PEM certificate"));
        }
    }
    settings(roots)
}

fn settings(roots: RootCertStore) -> Result<ClientConfig, ProviderError> {
    let mut settings = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| configuration(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_refused() {
        let words = |pem: &[u8]| with_roots(&[pem.to_vec()]).unwrap_err().message;
        assert!(words(b"hello").contains("no PEM certificate"));
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(words(broken).contains("cannot be read"));
    }
}
