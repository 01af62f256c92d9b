//! TLS 1.3 by rustls with ring. s2n-quic's own choice, AWS-LC, seeds its random numbers from the processor's timing, which
//! no trial repeats. Nothing is resumed: s2n-quic with rustls sends no tickets and takes none.

use std::sync::Arc;

use longlook_adapter::failure::Failure;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, KeyLogFile, RootCertStore, ServerConfig};

use crate::PROTOCOL;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Make a server's configuration.
pub fn server(certificate: &str, key: &str) -> Result<ServerConfig, Failure> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| Failure::of(certificate, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| Failure::of(key, error))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Failure::of("TLS", error))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| Failure::of(certificate, error))?;
    config.alpn_protocols = vec![PROTOCOL.into()];
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(config)
}

/// Make the configuration of a client's connections: verify against the authorities in the file `ca`, never the system's.
pub fn client(ca: &str) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(ca).map_err(|error| Failure::of(ca, error))? {
        let authority = authority.map_err(|error| Failure::of(ca, error))?;
        roots.add(authority).map_err(|error| Failure::of(ca, error))?;
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Failure::of("TLS", error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.into()];
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(Arc::new(config))
}
