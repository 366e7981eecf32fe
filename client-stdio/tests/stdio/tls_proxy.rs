//! A test proxy that terminates TLS in front of a bridge, with a certificate of a test authority.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A certificate authority that signs one certificate for each proxy.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns the certificate of the authority, for a file that `SSL_CERT_FILE` names.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn server_config(&self, certificate: &CertificateParams) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let certificate = certificate.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }
}

/// Returns the parameters of a certificate for `name` that is valid now.
pub(crate) fn certificate_for(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).unwrap()
}

/// A proxy that closes all its connections when it is dropped.
pub(crate) struct TlsProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsProxy {
    /// Starts a proxy on this machine in front of `bridge`.
    pub(crate) async fn start(
        bridge: SocketAddr,
        authority: &Authority,
        certificate: &CertificateParams,
    ) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(authority.server_config(certificate)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        Self {
            address,
            task: tokio::spawn(run_proxy(listener, acceptor, bridge)),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/mcp", self.address)
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run_proxy(listener: TcpListener, acceptor: TlsAcceptor, bridge: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        let (downstream, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            // This fails if the client does not accept the certificate.
            let mut downstream = acceptor.accept(downstream).await?;
            let mut upstream = TcpStream::connect(bridge).await?;
            copy_bidirectional(&mut downstream, &mut upstream).await
        });
    }
}
