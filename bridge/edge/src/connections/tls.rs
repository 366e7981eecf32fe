//! TLS of a server: its certificate and key, which can be replaced while it runs, and its handshakes.

mod own_handshake;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

/// The only protocol that is offered in a handshake: this build of hyper serves HTTP/1.1.
const ALPN_PROTOCOL: &[u8] = b"http/1.1";

/// A certificate that expires within this time is warned of when it is loaded. Automatic renewals
/// come earlier.
const EXPIRY_WARNING: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How much of a response a connection encrypts before the system takes it. Slow readers may hold as
/// much on each connection, and the default of rustls is twice this limit.
const MAX_UNSENT_BYTES: usize = 32 * 1024;

/// The response to a client that does not encrypt.
const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain\r\nconnection: close\r\ncontent-length: 57\r\n\r\n\
    this port is encrypted: use https:// (or wss://) instead\n";

/// How much of the request of such a client is read. With unread bytes, it could lose the response.
const PLAIN_HTTP_BYTES: usize = 4096;

/// The files of a server with TLS, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, followed by those of its issuers.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// Settings of TLS that all servers share which are clients of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsAuthority {
    /// The certificates of the authority that has signed those of all, in PEM.
    pub file: PathBuf,
    /// The name in the certificates of all.
    pub name: String,
}

/// Why a certificate and its key cannot be used. No message contains the key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Only one of the two settings is set.
    #[error("`{0}` is not set: set both, or none of them")]
    Incomplete(&'static str),
    /// A file cannot be read.
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// The first file has no certificate.
    #[error(
        "{} has no certificates in PEM: write that of the server, followed by those of its issuers",
        .0.display()
    )]
    NoCertificate(PathBuf),
    /// The second file has no key.
    #[error("{} has no private key in PEM: write one without a passphrase", .0.display())]
    NoKey(PathBuf),
    /// The key is not that of the certificate.
    #[error(
        "the key in {} is not that of the first certificate in {}: write both of one renewal, the \
         certificate of the server first", .0.key.display(), .0.certificate.display()
    )]
    Mismatch(TlsFiles),
    /// The file of the authority has no certificate that can be one.
    #[error("{} has no certificate of an authority in PEM", .0.display())]
    NoAuthority(PathBuf),
    /// Servers that are clients of one another would refuse the certificate.
    #[error(
        "the others would refuse {} as the certificate of `{}`: {}. Write a valid one of the authority \
         in {}, with this name", .0.certificate.display(), .1.name, .2, .1.file.display()
    )]
    Refused(TlsFiles, Box<TlsAuthority>, rustls::Error),
    /// A certificate or the key is of a kind that is not supported.
    #[error("{} cannot be used with {}: {}", .0.certificate.display(), .0.key.display(), .1)]
    Unsupported(TlsFiles, String),
}

/// Encrypts the connections of a server. Clones share the certificate.
#[derive(Clone)]
pub struct TlsAcceptor(Arc<Shared>);

struct Shared {
    files: TlsFiles,
    /// The authority that must have signed the certificates of clients, if they need one.
    authority: Option<TlsAuthority>,
    current: RwLock<Loaded>,
}

/// The configuration that was loaded from the files.
struct Loaded {
    config: Arc<ServerConfig>,
    /// The configuration as a client of servers with certificates of the same authority.
    client: Option<Arc<ClientConfig>>,
    certificates: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
    /// When the certificate of the server expires.
    expires: Time,
}

impl TlsAcceptor {
    /// Loads the certificate and the key of the settings `tls_cert` and `tls_key`, if they are set.
    ///
    /// # Errors
    ///
    /// [`TlsError`] when only one is set, when they cannot be read, or do not belong together.
    pub fn from_settings(
        tls_cert: Option<&Path>,
        tls_key: Option<&Path>,
    ) -> Result<Option<Self>, TlsError> {
        match (tls_cert, tls_key) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(TlsError::Incomplete("tls_key")),
            (None, Some(_)) => Err(TlsError::Incomplete("tls_cert")),
            (Some(certificate), Some(key)) => Self::load(TlsFiles {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            })
            .map(Some),
        }
    }

    /// Loads a certificate and its key.
    ///
    /// # Errors
    ///
    /// [`TlsError`] when they cannot be read, or do not belong together.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        Self::load_with_authority(files, None)
    }

    /// Loads a certificate and its key for servers that are clients of one another: each needs a
    /// certificate of this authority.
    ///
    /// # Errors
    ///
    /// [`TlsError`] when a file cannot be read, when they do not belong together, or when the others would
    /// refuse the certificate.
    pub fn load_mutual(files: TlsFiles, authority: TlsAuthority) -> Result<Self, TlsError> {
        Self::load_with_authority(files, Some(authority))
    }

    fn load_with_authority(
        files: TlsFiles,
        authority: Option<TlsAuthority>,
    ) -> Result<Self, TlsError> {
        let loaded = Loaded::load(&files, authority.as_ref())?;
        loaded.log_expiry(&files);
        Ok(Self(Arc::new(Shared {
            files,
            authority,
            current: RwLock::new(loaded),
        })))
    }

    /// The configuration of this server as a client of another one, if both need a certificate.
    pub(crate) fn client_config(&self) -> Option<Arc<ClientConfig>> {
        self.with_current(|current| current.client.clone())
    }

    /// Loads the certificate and the key again, for the connections that begin from now on. Both are
    /// replaced together, and open connections continue. Returns whether the certificate is another one.
    ///
    /// # Errors
    ///
    /// [`TlsError`] when the files cannot be used, for example because only one of them is new. The
    /// former certificate and key stay in use.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let loaded = Loaded::load(&self.0.files, self.0.authority.as_ref())?;
        let current = self.0.current.write();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        if current.certificates == loaded.certificates && current.authorities == loaded.authorities
        {
            return Ok(false);
        }
        loaded.log_expiry(&self.0.files);
        *current = loaded;
        Ok(true)
    }

    /// The files that are loaded.
    pub fn files(&self) -> &TlsFiles {
        &self.0.files
    }

    /// When the certificate in use expires.
    pub fn expires(&self) -> SystemTime {
        self.with_current(|current| current.expires.to_system_time())
    }

    /// Returns a warning if the certificate in use has expired or expires soon.
    pub fn expiry_warning(&self) -> Option<String> {
        self.with_current(|current| current.expiry_warning(&self.0.files))
    }

    fn with_current<T>(&self, read: impl FnOnce(&Loaded) -> T) -> T {
        let current = self.0.current.read();
        read(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Completes the handshake of a connection.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        // A handshake begins with the byte 22 (RFC 8446 section 5.1), a request with its method.
        if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
            refuse_plain_http(&stream);
            let message = "the client does not encrypt";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let config = self.with_current(|current| Arc::clone(&current.config));
        let acceptor = tokio_rustls::TlsAcceptor::from(config);
        let limit =
            |session: &mut ServerConnection| session.set_buffer_limit(Some(MAX_UNSENT_BYTES));
        acceptor
            .accept_with(stream, limit)
            .await
            .map(TlsStream::Server)
    }
}

impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TlsAcceptor").field(&self.0.files).finish()
    }
}

/// Answers a client that does not encrypt, as far as that is possible at once.
fn refuse_plain_http(stream: &TcpStream) {
    let _ = stream.try_read(&mut [0; PLAIN_HTTP_BYTES]);
    let _ = stream.try_write(PLAIN_HTTP_RESPONSE);
}

impl Loaded {
    fn load(files: &TlsFiles, authority: Option<&TlsAuthority>) -> Result<Self, TlsError> {
        let no_certificate = || TlsError::NoCertificate(files.certificate.clone());
        // Both are read before either is judged: a file that is missing is the first to mend.
        let (certificates, key) = (load_certificates(&files.certificate)?, read(&files.key)?);
        let certificates = certificates.ok_or_else(no_certificate)?;
        let first = certificates.first().ok_or_else(no_certificate)?;
        let expires = expiry(files, first)?;
        let key = PrivateKeyDer::from_pem_slice(&key);
        let key = key.map_err(|_| TlsError::NoKey(files.key.clone()))?;
        let authorities = match authority {
            None => Vec::new(),
            Some(authority) => load_certificates(&authority.file)?
                .filter(|authorities| !authorities.is_empty())
                .ok_or_else(|| TlsError::NoAuthority(authority.file.clone()))?,
        };
        let configs = if let Some(authority) = authority {
            let mut roots = RootCertStore::empty();
            if roots.add_parsable_certificates(authorities.clone()).0 == 0 {
                return Err(TlsError::NoAuthority(authority.file.clone()));
            }
            mutual_configs(&certificates, key, Arc::new(roots))
                .map(|(server, client)| (server, Some(Arc::new(client))))
        } else {
            server_config(certificates.clone(), key).map(|server| (server, None))
        };
        let (server, client) = configs.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::Mismatch(files.clone()),
            error => TlsError::Unsupported(files.clone(), error.to_string()),
        })?;
        let server = Arc::new(server);
        if let (Some(authority), Some(client)) = (authority, &client) {
            own_handshake::complete(Arc::clone(&server), Arc::clone(client), &authority.name)
                .map_err(|error| {
                    TlsError::Refused(files.clone(), Box::new(authority.clone()), error)
                })?;
        }
        Ok(Self {
            config: server,
            client,
            certificates,
            authorities,
            expires,
        })
    }

    fn log_expiry(&self, files: &TlsFiles) {
        let (path, expires) = (files.certificate.display(), self.expires);
        match self.expiry_warning(files) {
            Some(warning) => tracing::warn!("{warning}"),
            None => tracing::info!("the certificate in {path} is valid until {expires}"),
        }
    }

    fn expiry_warning(&self, files: &TlsFiles) -> Option<String> {
        let (path, expires) = (files.certificate.display(), self.expires);
        let is_soon = SystemTime::now() + EXPIRY_WARNING >= expires.to_system_time();
        is_soon.then(|| format!("the certificate in {path} expires at {expires}: renew it"))
    }
}

fn server_config(
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    // Clients that return continue their sessions, which costs a signature less and stores nothing.
    config.ticketer = ring::Ticketer::new()?;
    Ok(config)
}

/// Returns the configurations of servers that are clients of one another, and trust one authority alone.
fn mutual_configs(
    certificates: &[CertificateDer<'static>],
    key: PrivateKeyDer<'static>,
    roots: Arc<RootCertStore>,
) -> Result<(ServerConfig, ClientConfig), rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
    let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates.to_vec(), key.clone_key())?;
    server.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    // A session that is continued would skip the check of a certificate that was replaced.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates.to_vec(), key)?;
    Ok((server, client))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}

/// Loads the certificates of a file. Returns `None` if it is not PEM.
fn load_certificates(path: &Path) -> Result<Option<Vec<CertificateDer<'static>>>, TlsError> {
    let pem = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    Ok(certificates.ok())
}

/// Returns when a certificate expires.
fn expiry(files: &TlsFiles, certificate: &CertificateDer<'_>) -> Result<Time, TlsError> {
    let certificate = Certificate::from_der(certificate)
        .map_err(|error| TlsError::Unsupported(files.clone(), error.to_string()))?;
    Ok(certificate.tbs_certificate.validity.not_after)
}

#[cfg(test)]
mod tests;
