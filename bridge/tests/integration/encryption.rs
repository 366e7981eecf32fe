//! A bridge that encrypts without a proxy: its clients, pages, settings and metric.

use std::path::Path;
use std::sync::Arc;

use bridge::{Config, ServerHandle, Tokens};
use bridge_protocol::{BridgeToPage, Definition, Kind, PageToBridge, Register, RegistrationId};
use futures_util::{SinkExt, StreamExt};
use raw_page::{authenticate_message, call_response};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape_with};

/// An authority, and the folder with the certificate of a bridge and its key.
struct TestAuthority {
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl TestAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let this = Self { authority, folder };
        this.renew();
        this
    }

    /// Writes a new certificate and its key.
    fn renew(&self) {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        std::fs::write(self.path("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(self.path("key.pem"), key.serialize_pem()).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self, mut config: Config) -> Config {
        config.tls.tls_cert = Some(self.path("cert.pem"));
        config.tls.tls_key = Some(self.path("key.pem"));
        config
    }

    /// An HTTP client that trusts only this authority.
    fn http_client(&self) -> reqwest::Client {
        // Installs the crypto provider.
        http_client();
        let authority = reqwest::Certificate::from_der(self.authority.der()).unwrap();
        let builder = reqwest::Client::builder().tls_certs_only([authority]);
        let builder = builder.no_proxy().no_gzip();
        builder.pool_max_idle_per_host(0).build().unwrap()
    }

    async fn connect(&self, bridge: &ServerHandle) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(bridge.local_addr()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, tcp);
        with_deadline("handshake", connected).await.unwrap()
    }

    /// Connects a page over wss://.
    async fn connect_page(&self, bridge: &ServerHandle) -> EncryptedPage {
        let stream = self.connect(bridge).await;
        let url = format!(
            "wss://localhost:{}/ws?session=s",
            bridge.local_addr().port()
        );
        let opened = tokio_tungstenite::client_async(url, stream);
        let (socket, _) = with_deadline("upgrade", opened).await.unwrap();
        let mut page = EncryptedPage(socket);
        let message = authenticate_message("s", TOKEN);
        page.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
        assert!(matches!(page.recv().await, BridgeToPage::Authenticated(_)));
        page
    }
}

struct EncryptedPage(WebSocketStream<TlsStream<TcpStream>>);

impl EncryptedPage {
    async fn send(&mut self, message: PageToBridge) {
        let frame = Message::text(message.encode());
        with_deadline("room", self.0.send(frame)).await.unwrap();
    }

    async fn recv(&mut self) -> BridgeToPage {
        loop {
            let frame = with_deadline("message", self.0.next()).await;
            if let Message::Text(text) = frame.unwrap().unwrap() {
                return BridgeToPage::decode(&text).unwrap();
            }
        }
    }

    /// Registers `echo`.
    async fn register(&mut self) {
        let items = vec![Definition {
            kind: Kind::Tool,
            definition: raw_json(&echo_tool()),
        }];
        let registration_id = RegistrationId::from("r");
        let register = Register {
            registration_id,
            items,
        };
        self.send(PageToBridge::Register(register)).await;
        while !matches!(self.recv().await, BridgeToPage::Registered(_)) {}
    }

    /// Answers the next call with this result.
    async fn answer(&mut self, result: &Value) {
        loop {
            if let BridgeToPage::ToolCall(call) = self.recv().await {
                let response = call_response(&call.request_id, raw_json(result));
                return self.send(response).await;
            }
        }
    }
}

#[tokio::test]
async fn clients_and_pages_are_served_over_tls_while_the_certificate_is_renewed() {
    let authority = TestAuthority::new();
    let bridge = start_bridge_with(authority.config(test_config())).await;
    assert!(bridge.url().starts_with("https://127.0.0.1:"));
    let mut page = authority.connect_page(&bridge).await;
    page.register().await;
    let http = authority.http_client();
    for round in ["before", "after"] {
        let request = http.post(format!("{}/tool-call", bridge.url()));
        let request = request.bearer_auth(TOKEN);
        let request = request.json(&json!({ "toolName": "echo", "toolInput": {} }));
        // More than the buffer of TLS holds.
        let text = round.repeat(30_000);
        let result = json!({ "text": text });
        let (response, ()) = tokio::join!(request.send(), page.answer(&result));
        let response: Value = response.unwrap().json().await.unwrap();
        assert_eq!(response["structuredContent"], result);
        authority.renew();
        bridge.tls().unwrap().reload().unwrap();
    }
    assert!(
        http_client()
            .get(format!("{}/healthz", bridge.url()))
            .send()
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_metadata_and_the_metric_follow_from_the_certificate() {
    let authority = TestAuthority::new();
    let mut config = authority.config(config_with_metrics());
    config.identity.authorization_servers = vec!["https://id.example".to_owned()];
    let bridge = start_bridge_with(config).await;
    let http = authority.http_client();
    let url = format!("{}/.well-known/oauth-protected-resource/mcp", bridge.url());
    let metadata: Value = http.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(metadata["resource"], format!("{}/mcp", bridge.url()));
    // Pages of the bridge itself may connect, in the scheme that it has.
    let own = http.get(format!("{}/healthz", bridge.url()));
    let own = own.header("origin", bridge.url()).send().await.unwrap();
    assert_eq!(own.status(), 200);
    let series = scrape_with(&http, &bridge).await;
    let metric = "mcp_web_tls_certificate_expiry_timestamp_seconds{setting=\"tls_cert\"}";
    let expires = series[metric];
    // rcgen's default is the year 4096.
    assert!(expires > 4e9, "{expires}");
    let plain = start_bridge_with(config_with_metrics()).await;
    let series = scrape_with(&http_client(), &plain).await;
    assert!(!series.contains_key(metric));
}

#[tokio::test]
async fn settings_that_do_not_fit_the_certificate_prevent_a_start() {
    let authority = TestAuthority::new();
    let missing = Path::new("/no/such/key.pem");
    let mut cases: Vec<(Config, &str)> = Vec::new();
    let mut add = |change: &dyn Fn(&mut Config), message| {
        let mut config = authority.config(test_config());
        change(&mut config);
        cases.push((config, message));
    };
    add(&|config| config.tls.tls_key = None, "`tls_key` is not set");
    add(
        &|config| config.tls.tls_cert = None,
        "`tls_cert` is not set",
    );
    add(
        &|config| config.tls.tls_key = Some(missing.to_owned()),
        "/no/such/key.pem cannot be read",
    );
    add(
        &|config| config.tls.tls_key = config.tls.tls_cert.clone(),
        "has no private key in PEM",
    );
    add(
        &|config| config.identity.public_url = Some("http://localhost:3001".to_owned()),
        "serves https:// only",
    );
    add(
        &|config| {
            config.agent.run_agent = true;
            config.agent.own_program = Some("mcp-web".into());
        },
        "`run_agent` with `tls_cert`",
    );
    // Encryption does not replace tokens.
    add(
        &|config| config.network.bind = ([0, 0, 0, 0], 0).into(),
        "no tokens are configured",
    );
    for (config, message) in cases {
        let error = start_error(config).await.to_string();
        assert!(error.contains(message), "{error}");
    }
    let mut reachable = authority.config(test_config());
    reachable.network.bind = ([0, 0, 0, 0], 0).into();
    reachable.tokens = Tokens {
        tokens: vec![TOKEN.to_owned()],
        ..Tokens::default()
    };
    start_bridge_with(reachable).await;
}

#[test]
fn the_check_of_a_configuration_says_that_it_encrypts() {
    let authority = TestAuthority::new();
    let mut program = bridge_program().into_std();
    program.arg("--check-config");
    program.arg("--tls-cert").arg(authority.path("cert.pem"));
    program.arg("--tls-key").arg(authority.path("key.pem"));
    let output = program.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("address: 127.0.0.1:3001, with TLS"), "{text}");
}
