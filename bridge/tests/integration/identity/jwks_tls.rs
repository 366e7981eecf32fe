//! Keys over `https://`, as the program fetches them.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::mock_issuer::*;
use crate::kit::*;

/// Ends TLS for `localhost` before the server of an issuer.
struct Front {
    address: SocketAddr,
    authority: tempfile::TempPath,
    accepting: JoinHandle<()>,
}

impl Front {
    async fn of(issuer: &KeyServer) -> Self {
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
        let behind = issuer.address();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                // Who does not trust the certificate goes away.
                if let Ok(mut socket) = acceptor.accept(socket).await {
                    let mut behind = TcpStream::connect(behind).await.unwrap();
                    let _ = copy_bidirectional(&mut socket, &mut behind).await;
                }
            }
        });
        Self {
            address,
            authority: file,
            accepting,
        }
    }

    /// The program, told to fetch its keys here.
    fn program(&self) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-bridge"));
        let jwks_url = format!("https://localhost:{}/jwks.json", self.address.port());
        program
            .env_clear()
            .env("MCP_WEB_JWKS_URL", jwks_url)
            .env("MCP_WEB_JWT_ISSUER", ISSUER)
            .env("MCP_WEB_JWT_AUDIENCE", AUDIENCE)
            .args(["--bind", "127.0.0.1:0"])
            .kill_on_drop(true)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.accepting.abort();
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

async fn line_with<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>, word: &str) -> String {
    loop {
        let line = with_deadline(word, lines.next_line()).await.unwrap();
        let line = line.unwrap_or_else(|| panic!("no line with {word}"));
        if line.contains(word) {
            return line;
        }
    }
}

async fn url_of(program: &mut Child) -> String {
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let line = line_with(&mut lines, "listening on ").await;
    line.strip_prefix("listening on ").unwrap().to_owned()
}

#[tokio::test]
async fn keys_are_fetched_over_tls_only_from_trusted_servers() {
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(Answer::Keys(set_of(&[key.jwk()]))).await;
    let front = Front::of(&issuer).await;

    let mut trusting = front.program();
    trusting.env("SSL_CERT_FILE", &front.authority);
    let mut trusting = trusting.spawn().unwrap();
    let url = url_of(&mut trusting).await;
    assert_eq!(knocks(&url, &key.token("ada")).await.0, 200);
    assert_eq!(issuer.asked(), 1);
    trusting.kill().await.unwrap();

    let mut trusting_others = front.program().spawn().unwrap();
    let url = url_of(&mut trusting_others).await;
    assert_eq!(knocks(&url, &key.token("ada")).await.0, 401);
    let mut log = BufReader::new(trusting_others.stderr.take().unwrap()).lines();
    let warning = line_with(&mut log, "cannot be fetched").await;
    assert!(warning.contains("https://localhost:"), "{warning}");
    assert!(warning.contains("`jwks_url`"), "{warning}");
    assert_eq!(issuer.asked(), 1);
    trusting_others.kill().await.unwrap();
}
