//! Settings of the configuration file that change while the bridge runs.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::RequestBuilder;
use serde_json::json;
use tempfile::TempDir;

use super::{RunningBridge, replace_file, write_file};
use crate::kit::mock_agent::{MockAgent, UUID};
use crate::kit::{OTHER_TOKEN, Page, TOKEN, echo_tool, http_client, with_deadline};

const METRICS_TOKENS: [&str; 2] = [
    "metrics-token-of-the-operator-0123456789",
    "metrics-token-that-replaces-it-0123456789",
];

const JWT_SECRETS: [&str; 2] = [
    "secret-of-signed-tokens-0123456789abcdef",
    "secret-that-replaces-it-0123456789abcdef",
];

const GUIDE: &str = include_str!("../../../../docs/configuration.md");

/// The settings without those of a case.
const BASE: &str = "jwt_issuer = \"https://id.test\"\njwt_audience = [\"mcp-web\"]\n";

/// A bridge whose settings are in a file.
struct Scene {
    _folder: TempDir,
    file: PathBuf,
    bridge: RunningBridge,
}

impl Scene {
    /// Starts a bridge with these settings, and with a token and a secret if they name none.
    async fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = write_file(&folder, "bridge.toml", &complete(settings));
        let path = file.to_str().unwrap().to_owned();
        let bridge = RunningBridge::start(&["--config", &path]).await;
        Self {
            _folder: folder,
            file,
            bridge,
        }
    }

    /// Replaces the settings, and sends SIGHUP. Returns the line of the log about them.
    async fn reload(&mut self, settings: &str) -> String {
        std::fs::write(&self.file, complete(settings)).unwrap();
        self.bridge.reload("new settings are in use").await
    }
}

/// The settings with a token and the rules of signed tokens, where they name none.
fn complete(settings: &str) -> String {
    let names = |key: &str| {
        settings
            .lines()
            .any(|line| line.starts_with(&format!("{key} = ")))
    };
    let mut text = settings.to_owned();
    let tokens = format!("tokens = [{TOKEN:?}]");
    let secret = format!("jwt_secret = {:?}", JWT_SECRETS[0]);
    for line in BASE.lines().chain([&*tokens, &*secret]) {
        let (key, _) = line.split_once(" = ").unwrap();
        if !names(key) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// A token that grants a scope, signed with the first secret.
fn signed_token(scope: &str) -> String {
    let expires = SystemTime::now() + Duration::from_secs(600);
    let expires = expires.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({ "iss": "https://id.test", "aud": "mcp-web", "sub": "ada", "exp": expires,
        "scope": scope });
    let key = EncodingKey::from_secret(JWT_SECRETS[0].as_bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

/// A setting that changes.
struct Change {
    name: &'static str,
    values: [String; 2],
}

fn change(name: &'static str, one: &str, other: &str) -> Change {
    Change {
        name,
        values: [one.to_owned(), other.to_owned()],
    }
}

/// Two values of each setting that a reload replaces.
fn changes(folder: &TempDir) -> Vec<Change> {
    let path = |name: &str, text: &str| format!("{:?}", write_file(folder, name, text).display());
    let key = || {
        rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)
            .unwrap()
            .public_key_pem()
    };
    let quoted = |text: &str| format!("{text:?}");
    vec![
        change(
            "allowed_hosts",
            "[\"loopback\"]",
            "[\"loopback\", \"b.test\"]",
        ),
        change("allowed_origins", "[]", "[\"https://a.test\"]"),
        change("trusted_proxies", "[]", "[\"127.0.0.1\"]"),
        change(
            "tokens",
            &format!("[{TOKEN:?}]"),
            &format!("[{TOKEN:?}, {OTHER_TOKEN:?}]"),
        ),
        change("token_file", &path("t1", TOKEN), &path("t2", OTHER_TOKEN)),
        change(
            "jwt_secret",
            &quoted(JWT_SECRETS[0]),
            &quoted(JWT_SECRETS[1]),
        ),
        change("jwt_keys", &path("k1", &key()), &path("k2", &key())),
        // There is no server at the second address: the first one stays in use.
        change(
            "jwks_url",
            "\"http://127.0.0.1:9/a\"",
            "\"http://127.0.0.1:9/b\"",
        ),
        change("jwks_refresh", "\"10m\"", "\"5m\""),
        change("jwks_max_age", "\"24h\"", "\"12h\""),
        change(
            "jwt_issuer",
            "\"https://id.test\"",
            "\"https://other.test\"",
        ),
        change("jwt_audience", "[\"mcp-web\"]", "[\"other\"]"),
        change("jwt_leeway", "\"30s\"", "\"0s\""),
        change("jwt_subject_claim", "\"sub\"", "\"oid\""),
        change("jwt_roles_claim", "\"roles\"", "\"groups\""),
        change("jwt_scope_claims", "[\"scope\"]", "[\"scp\"]"),
        change("jwt_scope_map", "[]", "[\"all=tools:read\"]"),
        change("jwt_default_scopes", "[]", "[\"tools:read\"]"),
        change(
            "metrics_token",
            &quoted(METRICS_TOKENS[0]),
            &quoted(METRICS_TOKENS[1]),
        ),
        change("log", "\"info\"", "\"info,bridge=debug\""),
    ]
}

#[tokio::test]
async fn each_setting_that_the_guide_lists_is_replaced_after_a_signal() {
    let (_, list) = GUIDE.split_once("A reload replaces ").unwrap();
    let (list, _) = list.split_once(". ").unwrap();
    let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    let folder = tempfile::tempdir().unwrap();
    let changes = changes(&folder);
    let names: Vec<_> = changes.iter().map(|it| it.name).collect();
    assert_eq!(names, listed);
    for Change { name, values } in changes {
        let [before, after] = values.map(|value| format!("{name} = {value}\n"));
        let mut scene = Scene::start(&before).await;
        if name == "jwks_url" {
            std::fs::write(&scene.file, complete(&after)).unwrap();
            let line = scene.bridge.reload("the former settings stay in use").await;
            assert!(line.contains("check `jwks_url`"), "{line}");
            continue;
        }
        let line = scene.reload(&after).await;
        assert!(line.contains(&format!("settings=\"{name}\"")), "{line}");
        assert_eq!(scene.bridge.status(scene.bridge.get("/readyz")).await, 200);
    }
}

/// The answers to a request before and after a setting has changed.
struct Seen {
    name: &'static str,
    request: fn(&RunningBridge) -> RequestBuilder,
    statuses: [u16; 2],
}

const SEEN: &[Seen] = &[
    Seen {
        name: "allowed_hosts",
        request: |bridge| bridge.get("/healthz").header("host", "b.test"),
        statuses: [403, 200],
    },
    Seen {
        name: "allowed_origins",
        request: |bridge| bridge.get("/healthz").header("origin", "https://a.test"),
        statuses: [403, 200],
    },
    Seen {
        name: "tokens",
        request: |bridge| bridge.get("/tools").bearer_auth(OTHER_TOKEN),
        statuses: [401, 200],
    },
    Seen {
        name: "token_file",
        request: |bridge| bridge.get("/tools").bearer_auth(OTHER_TOKEN),
        statuses: [401, 200],
    },
    Seen {
        name: "jwt_secret",
        request: |bridge| bridge.get("/tools").bearer_auth(signed_token("tools:read")),
        statuses: [200, 401],
    },
    Seen {
        name: "jwt_issuer",
        request: |bridge| bridge.get("/tools").bearer_auth(signed_token("tools:read")),
        statuses: [200, 401],
    },
    Seen {
        name: "jwt_audience",
        request: |bridge| bridge.get("/tools").bearer_auth(signed_token("tools:read")),
        statuses: [200, 401],
    },
    Seen {
        name: "jwt_scope_claims",
        request: |bridge| bridge.get("/tools").bearer_auth(signed_token("tools:read")),
        statuses: [200, 403],
    },
    Seen {
        name: "metrics_token",
        request: |bridge| bridge.get("/metrics").bearer_auth(METRICS_TOKENS[1]),
        statuses: [401, 200],
    },
];

#[tokio::test]
async fn requests_see_the_new_settings() {
    let folder = tempfile::tempdir().unwrap();
    let changes = changes(&folder);
    for Seen {
        name,
        request,
        statuses,
    } in SEEN
    {
        let change = changes.iter().find(|it| it.name == *name).unwrap();
        let line = |value: &str| format!("{name} = {value}\n");
        let mut scene = Scene::start(&line(&change.values[0])).await;
        let before = scene.bridge.status(request(&scene.bridge)).await;
        scene.reload(&line(&change.values[1])).await;
        let after = scene.bridge.status(request(&scene.bridge)).await;
        assert_eq!([before, after].map(|it| it.as_u16()), *statuses, "{name}");
    }
}

#[tokio::test]
async fn the_first_metrics_token_needs_no_restart() {
    let mut scene = Scene::start("").await;
    let metrics = |bridge: &RunningBridge| bridge.get("/metrics").bearer_auth(METRICS_TOKENS[0]);
    assert_eq!(scene.bridge.status(metrics(&scene.bridge)).await, 404);
    let setting = format!("metrics_token = {:?}\n", METRICS_TOKENS[0]);
    std::fs::write(&scene.file, complete(&setting)).unwrap();
    // A warning would come before the line that lists the new settings.
    let line = scene.bridge.reload("metrics_token").await;
    assert!(line.contains("new settings are in use"), "{line}");
    assert_eq!(scene.bridge.status(metrics(&scene.bridge)).await, 200);
    scene.reload("").await;
    assert_eq!(scene.bridge.status(metrics(&scene.bridge)).await, 404);
}

#[tokio::test]
async fn a_proxy_that_becomes_trusted_names_its_clients() {
    let one = "max_refused_tokens = 1\n";
    let mut scene = Scene::start(one).await;
    let wrong = |bridge: &RunningBridge, client: &str| {
        let request = bridge.get("/tools").bearer_auth("wrong-token-0123456789");
        request.header("x-forwarded-for", client)
    };
    for (client, status) in [("192.0.2.1", 401), ("192.0.2.2", 429)] {
        let request = wrong(&scene.bridge, client);
        assert_eq!(scene.bridge.status(request).await, status, "{client}");
    }
    scene
        .reload(&format!("{one}trusted_proxies = [\"127.0.0.1\"]\n"))
        .await;
    for (client, status) in [("192.0.2.3", 401), ("192.0.2.4", 401), ("192.0.2.4", 429)] {
        let request = wrong(&scene.bridge, client);
        assert_eq!(scene.bridge.status(request).await, status, "{client}");
    }
}

#[tokio::test]
async fn a_wrong_file_keeps_the_former_settings_and_is_counted() {
    let metrics = format!("metrics_token = {:?}\n", METRICS_TOKENS[0]);
    let mut scene = Scene::start(&metrics).await;
    for (text, problem) in [
        ("tokens = [\"short\"]\n", "fewer than 16 characters"),
        ("call_timeout = 5\n", "bridge.toml:2: `call_timeout`"),
        ("allowed_host = []\n", "the nearest one is `allowed_hosts`"),
        ("allowed_hosts = []\n", "`allowed_hosts` is empty"),
        ("tokens = [\"", "this is not TOML"),
    ] {
        std::fs::write(&scene.file, format!("{metrics}{text}")).unwrap();
        // The error may be logged twice, because the file may also have been seen without the signal.
        let line = scene.bridge.reload(problem).await;
        assert!(line.contains("the former settings stay in use"), "{line}");
        assert_eq!(scene.bridge.status(scene.bridge.get("/readyz")).await, 200);
        let tools = scene.bridge.get("/tools").bearer_auth(TOKEN);
        assert_eq!(scene.bridge.status(tools).await, 200);
    }
    scene
        .reload(&format!(
            "{metrics}allowed_hosts = [\"loopback\", \"b.test\"]\n"
        ))
        .await;
    // A reload is counted after its line in the log, and before the next reload.
    scene.bridge.reload("have not changed").await;
    let request = scene.bridge.get("/metrics").bearer_auth(METRICS_TOKENS[0]);
    let response = with_deadline("metrics", request.send()).await.unwrap();
    let text = response.text().await.unwrap();
    let line = "mcp_web_config_reloads_total{outcome=\"changed\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("mcp_web_config_reloads_total{outcome=\"failed\"} 0"));
}

#[tokio::test]
async fn a_setting_that_needs_a_restart_is_named_once() {
    let mut scene = Scene::start("").await;
    let changed = "max_calls = 7\nallowed_hosts = [\"loopback\", \"b.test\"]\n";
    std::fs::write(&scene.file, complete(changed)).unwrap();
    let restart = "`max_calls` has changed in the settings, which needs a restart";
    scene.bridge.reload(restart).await;
    let line = scene.bridge.recv_log("new settings are in use").await;
    assert!(line.contains("settings=\"allowed_hosts\""), "{line}");
    // The tokens decide whether pages make their own.
    std::fs::write(&scene.file, "max_calls = 7\n").unwrap();
    let line = scene.bridge.reload("the former settings stay in use").await;
    assert!(line.contains("restart it"), "{line}");
    scene.reload("max_calls = 7\n").await;
    let line = scene.bridge.reload("the settings are loaded again").await;
    assert!(line.contains("have not changed"), "{line}");
}

/// A Kubernetes ConfigMap that is mounted, and an editor that replaces the file.
#[tokio::test]
async fn a_file_that_is_replaced_is_noticed_without_a_signal() {
    let mut scene = Scene::start("").await;
    replace_file(
        &scene.file,
        &complete("allowed_hosts = [\"loopback\", \"b.test\"]\n"),
    );
    scene.bridge.recv_log("new settings are in use").await;
    let request = scene.bridge.get("/healthz").header("host", "b.test");
    assert_eq!(scene.bridge.status(request).await, 200);
}

#[tokio::test]
async fn the_credential_for_the_agent_is_read_again() {
    let mut agent = MockAgent::start().await;
    let folder = tempfile::tempdir().unwrap();
    let credentials = [
        "credential-of-the-bridge-0123456789",
        "credential-that-replaces-it-0123456789",
    ];
    let file = write_file(&folder, "agent-token", credentials[0]);
    let url = &agent.config().agent.agent_url[0];
    let mut scene = Scene::start(&format!(
        "agent_url = \"{}\"\nagent_token_file = \"{}\"\n",
        url.as_str(),
        file.display()
    ))
    .await;
    let address = scene.bridge.address().to_owned();
    let mut page = Page::connect_to(&address, "s", TOKEN).await;
    let ids = [UUID, "6a1d0b63-8e1f-4c40-8d63-1e1c7b2a9f22"];
    for (credential, id) in credentials.into_iter().zip(ids) {
        replace_file(&file, credential);
        let read_again = "the settings are loaded again";
        scene.bridge.reload(read_again).await;
        let query = json!({ "type": "query", "uuid": id, "prompt": "?", "context": [] });
        page.send_json(query).await;
        let request = agent.next_request().await;
        let expected = format!("Bearer {credential}");
        assert_eq!(request.headers["authorization"], expected);
        request.respond(202);
    }
}

#[tokio::test]
async fn pages_of_signed_tokens_authenticate_again_when_their_rules_change() {
    let mut scene = Scene::start("").await;
    let token = signed_token("page");
    let address = scene.bridge.address().to_owned();
    let mut page = Page::connect_to(&address, "s", &token).await;
    let mut other = Page::connect_to(&address, "s", TOKEN).await;
    scene.reload("jwt_leeway = \"0s\"\n").await;
    // A page reconnects after this code, also with a token that it cannot renew.
    assert_eq!(page.recv_close().await.0, 1012);
    // It comes back, and the page of the listed token is not concerned.
    Page::connect_to(&address, "s", &token).await;
    other.register(&[echo_tool()]).await;
}

/// The status of a request to the host `b.test` by a client that trusts only this certificate. `None` if
/// the bridge has another one.
async fn status_with(bridge: &RunningBridge, trusted: &rcgen::Certificate) -> Option<u16> {
    // Installs the crypto provider.
    http_client();
    let trusted = reqwest::Certificate::from_der(trusted.der()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([trusted]);
    let client = client.no_proxy().build().unwrap();
    let request = client.get(format!("{}/healthz", bridge.url));
    let request = request.header("host", "b.test").send();
    let response = with_deadline("response", request).await;
    response.ok().map(|response| response.status().as_u16())
}

/// Of a renewal, one file is written before the other.
#[tokio::test]
async fn a_certificate_is_replaced_after_a_signal_and_a_wrong_one_holds_up_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let issue = || {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["127.0.0.1".to_owned()];
        let params = rcgen::CertificateParams::new(names).unwrap();
        (params.self_signed(&key).unwrap(), key.serialize_pem())
    };
    let [(first, first_key), (second, second_key)] = [issue(), issue()];
    let certificate = write_file(&folder, "cert.pem", &first.pem());
    let key = write_file(&folder, "key.pem", &first_key);
    let tls = format!(
        "tls_cert = \"{}\"\ntls_key = \"{}\"\n",
        certificate.display(),
        key.display()
    );
    let mut scene = Scene::start(&tls).await;
    assert_eq!(status_with(&scene.bridge, &first).await, Some(403));

    let hosts = "allowed_hosts = [\"loopback\", \"b.test\"]\n";
    std::fs::write(&scene.file, complete(&format!("{tls}{hosts}"))).unwrap();
    replace_file(&certificate, &second.pem());
    let line = scene.bridge.reload("the former certificate stays").await;
    assert!(line.contains("is not that of the first"), "{line}");
    // The host is allowed all the same.
    assert_eq!(status_with(&scene.bridge, &first).await, Some(200));

    replace_file(&key, &second_key);
    scene.bridge.reload("is valid until").await;
    assert_eq!(status_with(&scene.bridge, &second).await, Some(200));
    assert_eq!(status_with(&scene.bridge, &first).await, None);
}
