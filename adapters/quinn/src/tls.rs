//! TLS 1.3 by rustls, with proofs of how a handshake went.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use longlook_adapter::failure::Failure;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::StoresServerSessions;
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, KeyLog, KeyLogFile, NamedGroup, RootCertStore, ServerConfig};
use rustls::{Error, SignatureScheme};
use tokio::sync::Notify;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The file named by SSLKEYLOGFILE, if any; all connections share it.
fn key_log() -> Arc<dyn KeyLog> {
    static LOG: OnceLock<Arc<KeyLogFile>> = OnceLock::new();
    LOG.get_or_init(|| Arc::new(KeyLogFile::new())).clone()
}

/// Make the configuration of a server of one application protocol; over QUIC `early_data_bytes` is u32::MAX or 0.
pub fn server(certificate: &str, key: &str, protocol: &str, early_data_bytes: u32) -> Result<ServerConfig, Failure> {
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
    config.alpn_protocols = vec![protocol.into()];
    config.key_log = key_log();
    config.session_storage = Arc::new(Sessions::default());
    config.max_early_data_size = early_data_bytes;
    Ok(config)
}

/// Sessions that may be resumed, early data and all, any number of times: a client that opens several connections at
/// once resumes them all with one ticket. rustls itself gives each away once, which is what protects from replay.
#[derive(Debug, Default)]
struct Sessions(Mutex<Vec<(Vec<u8>, Vec<u8>)>>);

const MOST_SESSIONS: usize = 256;

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut kept = self.0.lock().expect("nobody panics with it");
        if kept.len() == MOST_SESSIONS {
            kept.remove(0);
        }
        kept.push((key, value));
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let kept = self.0.lock().expect("nobody panics with it");
        kept.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get(key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// Counts what happens inside TLS, where nobody else looks: read before and after a step, it shows what the step did.
pub type Marks = Arc<AtomicUsize>;

/// A key log that counts a server's resumed handshakes: only they have an early secret.
#[derive(Debug)]
struct ResumptionSeen {
    inner: Arc<dyn KeyLog>,
    marks: Marks,
}

/// Count a server's resumed handshakes.
pub fn count_resumptions(config: &mut ServerConfig) -> Marks {
    let marks = Marks::default();
    config.key_log = Arc::new(ResumptionSeen { inner: config.key_log.clone(), marks: marks.clone() });
    marks
}

impl KeyLog for ResumptionSeen {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        if label == "CLIENT_EARLY_TRAFFIC_SECRET" {
            self.marks.fetch_add(1, Ordering::Relaxed);
        }
        if self.inner.will_log(label) {
            self.inner.log(label, client_random, secret);
        }
    }
}

/// The TLS side that all connections of a job share.
pub struct ClientSide {
    config: ClientConfig,
    /// Counts the certificates that were verified: a resumed handshake has none.
    pub verifications: Marks,
    /// Obtained so far.
    pub tickets: Arc<Tickets>,
}

impl ClientSide {
    /// Verify the server against the authorities in the file `ca`, and never the system's.
    pub fn new(ca: &str, protocol: &str) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        let authorities = CertificateDer::pem_file_iter(ca).map_err(|error| Failure::of(ca, error))?;
        for authority in authorities {
            let authority = authority.map_err(|error| Failure::of(ca, error))?;
            roots.add(authority).map_err(|error| Failure::of(ca, error))?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| Failure::of(ca, error))?;
        let verifications = Marks::default();
        let verifier = Arc::new(VerificationSeen { inner: verifier, marks: verifications.clone() });
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| Failure::of("TLS", error))?
            .dangerous() // so rustls calls any verifier that is not its own; this one asks its own
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        let tickets = Arc::new(Tickets::default());
        config.alpn_protocols = vec![protocol.into()];
        config.key_log = key_log();
        config.resumption = Resumption::store(tickets.clone());
        Ok(Self { config, verifications, tickets })
    }

    /// Make the configuration of one connection.
    pub fn config(&self, early_data: bool) -> ClientConfig {
        let mut config = self.config.clone();
        config.enable_early_data = early_data;
        config
    }
}

/// Verifies as usual, and counts.
#[derive(Debug)]
struct VerificationSeen {
    inner: Arc<WebPkiServerVerifier>,
    marks: Marks,
}

impl ServerCertVerifier for VerificationSeen {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.marks.fetch_add(1, Ordering::Relaxed);
        self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Tickets, each of which one connection resumes from: rustls lets nobody copy them.
#[derive(Debug, Default)]
pub struct Tickets {
    kept: Mutex<Vec<Tls13ClientSessionValue>>,
    group: Mutex<Option<NamedGroup>>,
    arrived: Notify,
}

impl Tickets {
    /// Return how many there are.
    pub fn count(&self) -> usize {
        self.kept.lock().expect("nobody panics with it").len()
    }

    /// Return when there are more than `count`.
    pub async fn more_than(&self, count: usize) {
        while self.count() <= count {
            self.arrived.notified().await;
        }
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        *self.group.lock().expect("nobody panics with it") = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        *self.group.lock().expect("nobody panics with it")
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.kept.lock().expect("nobody panics with it").push(ticket);
        self.arrived.notify_one();
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept.lock().expect("nobody panics with it").pop()
    }
}
