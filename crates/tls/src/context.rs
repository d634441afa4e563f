//! TLS contexts: certificates, keys, trusted authorities and protocols, from which sessions are
//! made.
//!
//! A context is immutable and shared by many sessions. Files are read when it is made, and an error
//! names the file. A client verifies servers unless it was explicitly told to trust all.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};

use crate::authorities;
use crate::error::ContextError;

/// A certificate with those that vouch for it, and its private key: names of PEM files.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificates: String,
    pub key: String,
}

/// The servers that a client trusts.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those that an authority which the system trusts vouches for.
    #[default]
    System,
    /// Those that a certificate of this PEM file vouches for.
    File(String),
    /// All. The connection is encrypted, but nobody knows to whom.
    Anybody,
}

/// The settings of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    pub trust: Trust,
    /// The client's certificate, for servers that ask.
    pub identity: Option<Identity>,
    /// Protocols inside of the session, the preferred one first (ALPN).
    pub protocols: Vec<String>,
}

/// The settings that many sessions share.
#[derive(Clone, Debug)]
pub enum TlsContext {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl TlsContext {
    /// A context for connections to servers.
    pub fn client(options: &ClientOptions) -> Result<TlsContext, ContextError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ContextError::new(&error.to_string(), ""))?;
        let builder = match &options.trust {
            Trust::System => builder.with_root_certificates(authorities::of_the_system()?),
            Trust::File(file) => builder.with_root_certificates(authorities_of(file)?),
            Trust::Anybody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Credulous(provider()))),
        };
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (certificates, key) = identity.read()?;
                builder
                    .with_client_auth_cert(certificates, key)
                    .map_err(|error| ContextError::new(&plain(&error), &identity.key))?
            }
        };
        config.alpn_protocols = encoded(&options.protocols);
        Ok(TlsContext::Client(Arc::new(config)))
    }

    /// A context for a server. With `clients`, only clients that a certificate of this PEM file vouches
    /// for are taken.
    pub fn server(
        identity: &Identity,
        clients: Option<&str>,
        protocols: &[String],
    ) -> Result<TlsContext, ContextError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ContextError::new(&error.to_string(), ""))?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let authorities = Arc::new(authorities_of(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(authorities, provider())
                    .build()
                    .map_err(|error| ContextError::new(&error.to_string(), file))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let (certificates, key) = identity.read()?;
        let mut config = builder
            .with_single_cert(certificates, key)
            .map_err(|error| ContextError::new(&plain(&error), &identity.key))?;
        config.alpn_protocols = encoded(protocols);
        Ok(TlsContext::Server(Arc::new(config)))
    }
}

impl TlsContext {
    /// The same for a server, offering these protocols inside of the session if it names none.
    pub fn offering(&self, protocols: &[&str]) -> TlsContext {
        match self {
            TlsContext::Server(config) if config.alpn_protocols.is_empty() => {
                let mut config = ServerConfig::clone(config);
                config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
                TlsContext::Server(Arc::new(config))
            }
            context => context.clone(),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn encoded(protocols: &[String]) -> Vec<Vec<u8>> {
    protocols
        .iter()
        .map(|protocol| protocol.clone().into_bytes())
        .collect()
}

fn plain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "the private key is not that of the certificate".to_owned()
        }
        error => error.to_string(),
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, ContextError> {
    let failed = |error: rustls::pki_types::pem::Error| match error {
        rustls::pki_types::pem::Error::Io(error) => unreadable(&error, file),
        error => ContextError::new(&format!("no certificates in PEM form: {error}"), file),
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(Path::new(file))
        .map_err(failed)?
        .collect();
    let found = found.map_err(failed)?;
    if found.is_empty() {
        return Err(ContextError::new(
            "the file has no certificate in PEM form",
            file,
        ));
    }
    Ok(found)
}

fn unreadable(error: &std::io::Error, file: &str) -> ContextError {
    let words = error.to_string();
    let words = words.split(" (os error ").next().unwrap_or_default();
    ContextError::new(&format!("cannot read: {words}"), file)
}

fn authorities_of(file: &str) -> Result<RootCertStore, ContextError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(file)? {
        store
            .add(certificate)
            .map_err(|error| ContextError::new(&error.to_string(), file))?;
    }
    Ok(store)
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ContextError> {
        let certificates = certificates(&self.certificates)?;
        let key =
            PrivateKeyDer::from_pem_file(Path::new(&self.key)).map_err(|error| match error {
                rustls::pki_types::pem::Error::Io(error) => unreadable(&error, &self.key),
                _ => ContextError::new("the file has no private key in PEM form", &self.key),
            })?;
        Ok((certificates, key))
    }
}

/// Believes every certificate, but not who does not have its key.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
