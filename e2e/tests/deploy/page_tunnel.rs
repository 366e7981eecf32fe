//! TLS for pages, whose sockets are plain.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsConnector;

use crate::deployment::{HOST, PAGE_ADDRESS};

/// Encrypts connections, and forwards them to a proxy from the address of pages. It stops when it is
/// dropped.
#[derive(Debug)]
pub(crate) struct PageTunnel {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl PageTunnel {
    /// Starts the tunnel on a free port.
    pub(crate) async fn start(proxy: SocketAddr, authorities: RootCertStore) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(authorities)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Self {
            address: listener.local_addr().unwrap(),
            accepting: tokio::spawn(accept(listener, connector, proxy)),
        }
    }

    /// Returns the address for pages.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PageTunnel {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, connector: TlsConnector, proxy: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        let (page, _) = listener.accept().await.unwrap();
        connections.spawn(forward(page, connector.clone(), proxy));
        while connections.try_join_next().is_some() {}
    }
}

/// Forwards one connection. An error ends it, as it ends that of a browser.
async fn forward(
    mut page: TcpStream,
    connector: TlsConnector,
    proxy: SocketAddr,
) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((PAGE_ADDRESS, 0).into())?;
    let proxy = socket.connect(proxy).await?;
    let name = ServerName::try_from(HOST).expect("the host is a name");
    let mut proxy = connector.connect(name, proxy).await?;
    copy_bidirectional(&mut page, &mut proxy).await?;
    Ok(())
}
