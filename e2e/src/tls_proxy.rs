//! HTTPS in front of a [`StaticSite`], with a self-signed certificate.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::StaticSite;

/// Terminates TLS and forwards the bytes to the site. It stops when it is dropped.
#[derive(Debug)]
pub struct TlsProxy {
    url: String,
    accepting: JoinHandle<()>,
}

impl TlsProxy {
    /// The flag that makes Chromium accept the certificate.
    pub const CHROMIUM_FLAG: &str = "--ignore-certificate-errors";

    /// Starts the proxy on a free port.
    pub async fn start(site: &StaticSite) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = tokio::spawn(accept(listener, acceptor(), site.address().to_owned()));
        let url = format!("https://localhost:{port}");
        Self { url, accepting }
    }

    /// Returns the base URL, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn acceptor() -> TlsAcceptor {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, site: String) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (acceptor, site) = (acceptor.clone(), site.clone());
        connections.spawn(async move {
            let mut client = acceptor.accept(client).await?;
            let mut site_connection = TcpStream::connect(site).await?;
            copy_bidirectional(&mut client, &mut site_connection).await
        });
    }
}
