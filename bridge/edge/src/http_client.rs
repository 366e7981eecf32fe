//! The HTTP client for requests that a service makes itself, with its trusted certificates, proxies
//! and redirects.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use rustls::crypto::ring;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// How many connections a client keeps open while no request uses them. A burst of requests opens many,
/// and each takes some 30 kB.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// The remedy for a certificate of an unknown authority. On macOS and Windows the system alone decides
/// which authorities are trusted.
const TRUST_AUTHORITY: &str = if cfg!(all(unix, not(target_vendor = "apple"))) {
    "add the authority that signed it to those of the system, or name its PEM file in SSL_CERT_FILE"
} else {
    "add the authority that signed it to those of the system"
};

/// How long a connection without TLS stays open while no request uses it. Common servers on this machine
/// (Node, uvicorn, llama.cpp) close idle connections after 5 s, and a request that is sent at that moment
/// fails. A new connection without TLS costs little.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Builds a client for the host of this URL.
///
/// The client follows no redirects, so that a credential is sent only to the configured host.
/// Requests to a loopback address do not use a proxy. For `https://`, the system's root
/// certificates are loaded, which takes milliseconds.
///
/// # Errors
///
/// The cause, when the root certificates cannot be loaded or TLS cannot be set up.
pub fn build(url: &Url) -> Result<Client, String> {
    let client = builder(url)?.build();
    client.map_err(|error| last_cause(&error))
}

/// Prepares a client as [`build`] does, for further settings such as timeouts.
///
/// # Errors
///
/// The cause, when the root certificates cannot be loaded or TLS cannot be set up.
pub fn builder(url: &Url) -> Result<ClientBuilder, String> {
    let tls = match url.scheme() {
        "https" => ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_platform_verifier()
            .map_err(|error| error.to_string())?
            .with_no_client_auth(),
        _ => no_tls()?,
    };
    let mut client = Client::builder()
        .tls_backend_preconfigured(tls)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .redirect(Policy::none());
    if url.scheme() == "http" {
        client = client.pool_idle_timeout(PLAIN_IDLE_TIMEOUT);
    }
    if is_loopback(url) {
        client = client.no_proxy();
    }
    Ok(client)
}

/// The configuration that reqwest requires even if nothing will be encrypted.
fn no_tls() -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = builder.with_root_certificates(RootCertStore::empty());
    Ok(builder.with_no_client_auth())
}

/// Whether the host of the URL is `localhost` or a loopback address.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a token that is sent to this URL crosses the network without encryption.
pub fn exposes_tokens(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url)
}

/// Returns the innermost cause of an error, with what to do if it is a certificate of an unknown
/// authority. It is the most specific one, and contains neither URL nor headers.
pub fn last_cause(error: &(dyn Error + 'static)) -> String {
    let request = error.downcast_ref::<reqwest::Error>();
    if request.is_some_and(|error| error.is_redirect() || error.is_builder()) {
        return "the request cannot be made".to_owned();
    }
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    if is_unknown_authority(cause) {
        format!("{cause}: {TRUST_AUTHORITY}")
    } else {
        cause.to_string()
    }
}

/// A bad signature is what rustls reports if the authority was created again with a new key under its
/// old name.
fn is_unknown_authority(cause: &(dyn Error + 'static)) -> bool {
    let mut cause = cause;
    // `source()` of an `io::Error` skips the error that it wraps, and several may wrap one another.
    while let Some(wrapped) = cause.downcast_ref().and_then(io::Error::get_ref) {
        cause = wrapped;
    }
    matches!(
        cause.downcast_ref(),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature
        ))
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{Barrier, mpsc};

    use super::*;

    const REQUESTS: usize = MAX_IDLE_CONNECTIONS + 3;

    /// Answers one request once all have arrived, and reports when the client closes the connection.
    async fn serve(mut stream: TcpStream, all_arrived: Arc<Barrier>, closed: mpsc::Sender<()>) {
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        all_arrived.wait().await;
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(response).await.unwrap();
        assert_eq!(stream.read(&mut request).await.unwrap_or(0), 0);
        closed.send(()).await.unwrap();
    }

    #[tokio::test]
    async fn idle_connections_are_limited() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = build(&url.parse().unwrap()).unwrap();
        let all_arrived = Arc::new(Barrier::new(REQUESTS));
        let (sender, mut closed) = mpsc::channel(REQUESTS);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all_arrived), sender.clone()));
            }
        });
        let requests = (0..REQUESTS).map(|_| tokio::spawn(client.get(&url).send()));
        for request in requests.collect::<Vec<_>>() {
            request.await.unwrap().unwrap();
        }
        for _ in MAX_IDLE_CONNECTIONS..REQUESTS {
            closed.recv().await.unwrap();
        }
        assert!(closed.is_empty(), "the others stay open");
    }

    #[test]
    fn the_cause_names_the_remedy_for_an_unknown_authority_only() {
        for (error, is_unknown) in [
            (CertificateError::UnknownIssuer, true),
            (CertificateError::BadSignature, true),
            (CertificateError::Expired, false),
            (CertificateError::NotValidForName, false),
        ] {
            let error = rustls::Error::InvalidCertificate(error);
            let wrapped = io::Error::other(error.clone());
            let twice = io::Error::other(io::Error::other(error.clone()));
            for cause in [last_cause(&error), last_cause(&wrapped), last_cause(&twice)] {
                assert!(cause.starts_with("invalid peer certificate"), "{cause}");
                assert_eq!(cause.ends_with(TRUST_AUTHORITY), is_unknown, "{cause}");
            }
        }
    }

    #[test]
    fn loopback_is_recognised_by_name_and_by_address() {
        for (url, expected) in [
            ("http://localhost:3001", true),
            ("http://127.0.0.2:3001", true),
            ("http://[::1]:3001", true),
            ("https://bridge.example", false),
            ("http://localhost.example", false),
            ("http://192.168.0.7", false),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(is_loopback(&url), expected, "{url}");
            let is_plain_to_others = !expected && url.scheme() == "http";
            assert_eq!(exposes_tokens(&url), is_plain_to_others, "{url}");
            assert!(build(&url).is_ok(), "{url}");
        }
    }
}
