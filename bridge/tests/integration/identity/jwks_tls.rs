//! Keys that the program fetches over `https://`.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::{AsyncBufReadExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::mock_issuer::*;
use crate::kit::*;

/// A TLS proxy for `localhost` in front of the key server of an issuer.
struct TlsProxy {
    address: SocketAddr,
    authority: tempfile::TempPath,
    accept_task: JoinHandle<()>,
}

impl TlsProxy {
    async fn start(issuer: &KeyServer) -> Self {
        let mut authority = CertificateParams::default();
        let name = "authority of a test";
        authority.distinguished_name.push(DnType::CommonName, name);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = KeyPair::generate()
            .and_then(|key| CertifiedIssuer::self_signed(authority, key))
            .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&file, authority.pem()).unwrap();

        let acceptor = TlsAcceptor::from(Arc::new(server_config(&authority)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = issuer.address();
        let accept_task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                // A client that does not trust the certificate closes the connection.
                if let Ok(mut socket) = acceptor.accept(socket).await {
                    let mut upstream = TcpStream::connect(upstream).await.unwrap();
                    let _ = copy_bidirectional(&mut socket, &mut upstream).await;
                }
            }
        });
        Self {
            address,
            authority: file,
            accept_task,
        }
    }

    /// The program, configured to fetch its keys through this proxy.
    fn program(&self) -> Command {
        let mut program = bridge_program();
        let jwks_url = format!("https://localhost:{}/jwks.json", self.address.port());
        program
            .env("MCP_WEB_JWKS_URL", jwks_url)
            .env("MCP_WEB_JWT_ISSUER", ISSUER)
            .env("MCP_WEB_JWT_AUDIENCE", AUDIENCE)
            .args(["--bind", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

fn server_config(authority: &CertifiedIssuer<'static, KeyPair>) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}

/// The next line of the log that contains this text.
async fn log_line_with(program: &mut Child, text: &str) -> String {
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    loop {
        let line = with_deadline(text, lines.next_line()).await.unwrap();
        let line = line.unwrap_or_else(|| panic!("no line with {text}"));
        if line.contains(text) {
            return line;
        }
    }
}

#[tokio::test]
async fn keys_are_fetched_over_tls_only_from_trusted_servers() {
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
    let proxy = TlsProxy::start(&issuer).await;

    let mut trusting_program = proxy.program();
    trusting_program.env("SSL_CERT_FILE", &proxy.authority);
    let mut trusting_program = trusting_program.spawn().unwrap();
    let url = listening_url(&mut trusting_program).await;
    assert_eq!(get_tools(&url, &key.token("ada")).await.0, 200);
    assert_eq!(issuer.request_count(), 1);
    trusting_program.kill().await.unwrap();

    let mut distrusting_program = proxy.program().spawn().unwrap();
    let url = listening_url(&mut distrusting_program).await;
    assert_eq!(get_tools(&url, &key.token("ada")).await.0, 503);
    let warning = log_line_with(&mut distrusting_program, "cannot be fetched").await;
    assert!(warning.contains("https://localhost:"), "{warning}");
    for remedy in ["`jwks_url`", "SSL_CERT_FILE"] {
        assert!(warning.contains(remedy), "{warning}");
    }
    assert_eq!(issuer.request_count(), 1);
    distrusting_program.kill().await.unwrap();
}
