//! Users who log in at the identity provider of the guide, behind the nginx of the bridge.

use std::fs;
use std::process::Stdio;

use e2e::{ProcessGroup, ReservedPort, program_paths, with_deadline};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use url::Url;

use crate::deploy_file::{deploy_file, replaced};
use crate::deployment::{Changes, Deployment, register};
use crate::proxy::ProxyKind;

const RESOURCE: &str = "https://bridge.example.com/mcp";
const METADATA: &str = "https://id.example.com/.well-known/openid-configuration";

/// A verifier and its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The provider of the guide.
struct IdentityProvider {
    folder: TempDir,
    port: ReservedPort,
    _process: ProcessGroup,
}

impl IdentityProvider {
    async fn start() -> Self {
        let folder = TempDir::with_prefix("mcp-web-id-").unwrap();
        let port = ReservedPort::reserve();
        let number = port.address().port().to_string();
        let script = replaced(&deploy_file("oidc-provider.mjs"), &[("3002", &number)]);
        fs::write(folder.path().join("oidc-provider.mjs"), script).unwrap();
        let packages = program_paths::tool("deploy-node/node_modules");
        std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).unwrap();
        let mut process = ProcessGroup::start("oidc-provider", command(&folder, &[]));
        process.wait_for_line("https://id.example.com at").await;
        Self {
            folder,
            port,
            _process: process,
        }
    }

    async fn add_user(&self, name: &str, password: &str) {
        let mut command = command(&self.folder, &["add", name]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(password.as_bytes()).await.unwrap();
        drop(input);
        let ended = with_deadline("a user to be added", child.wait()).await;
        assert!(ended.unwrap().success());
    }
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(program_paths::node());
    command
        .arg("oidc-provider.mjs")
        .args(arguments)
        .env("STATE_DIRECTORY", folder.path())
        .current_dir(folder.path())
        .kill_on_drop(true);
    command
}

/// The browser of a user, with its cookies.
struct UserAgent<'a> {
    deployment: &'a Deployment,
    cookies: TempDir,
}

impl UserAgent<'_> {
    /// Sends a request; returns the status, the address of a redirect, and the body.
    async fn send(&self, url: &str, arguments: &[&str]) -> (String, String, Vec<u8>) {
        let cookies = self.cookies.path().join("cookies").display().to_string();
        let mut command = self.deployment.curl_to("2", url, arguments);
        command.args(["--cookie", &cookies, "--cookie-jar", &cookies]);
        command.args(["--write-out", "%{stderr}%{http_code} %{redirect_url}"]);
        let output = with_deadline(format!("the answer of {url}"), command.output()).await;
        let output = output.unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        let (status, redirect) = line.split_once(' ').unwrap_or((&line, ""));
        (status.to_owned(), redirect.to_owned(), output.stdout)
    }

    async fn json(&self, url: &str, arguments: &[&str]) -> Value {
        let (status, _, body) = self.send(url, arguments).await;
        let text = String::from_utf8_lossy(&body);
        assert!(status.starts_with("20"), "{url}: {status}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
    }

    /// Logs in, consents, and returns the access token.
    async fn log_in(&self, client: &str, redirect: &str, scope: &str, user: &str) -> String {
        let provider = self.json(METADATA, &[]).await;
        let endpoint = |name: &str| provider[name].as_str().unwrap().to_owned();
        let mut url = Url::parse_with_params(
            &endpoint("authorization_endpoint"),
            [
                ("client_id", client),
                ("redirect_uri", redirect),
                ("response_type", "code"),
                ("scope", scope),
                ("resource", RESOURCE),
                ("code_challenge", CHALLENGE),
                ("code_challenge_method", "S256"),
                ("state", "state"),
            ],
        )
        .unwrap();
        let form = format!("name={user}&password=the password of {user}");
        while !url.as_str().starts_with(redirect) {
            let arguments: &[&str] = if url.path().starts_with("/interaction/") {
                &["--data", &form]
            } else {
                &[]
            };
            let (status, next, body) = self.send(url.as_str(), arguments).await;
            let text = String::from_utf8_lossy(&body);
            url = Url::parse(&next).unwrap_or_else(|_| panic!("{url}: {status}: {text}"));
        }
        let code = url.query_pairs().find(|(name, _)| name == "code");
        let code = code.unwrap_or_else(|| panic!("no code in {url}")).1;
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("redirect_uri", redirect),
            ("code", &*code),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        let body = Url::parse_with_params("https://form", fields).unwrap();
        let body = body.query().unwrap();
        let tokens = self
            .json(&endpoint("token_endpoint"), &["--data", body])
            .await;
        assert!(tokens["refresh_token"].is_string(), "{tokens}");
        tokens["access_token"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_page_and_a_client_of_a_user_meet() {
    let provider = IdentityProvider::start().await;
    for user in ["ada", "ben"] {
        let password = format!("the password of {user}\n");
        provider.add_user(user, &password).await;
    }
    let address = provider.port.address();
    let jwks_url = format!("http://{address}/jwks");
    let changes = Changes {
        jwks_url: Some(&jwks_url),
        provider: Some(address),
        ..Changes::default()
    };
    let deployment = Deployment::start_with(ProxyKind::Nginx, changes).await;
    let user_agent = |_| UserAgent {
        deployment: &deployment,
        cookies: TempDir::new().unwrap(),
    };
    let [ada, ben] = [(), ()].map(user_agent);

    // The client knows the URL of the bridge only.
    let challenge = deployment.get("2", "/mcp", &["--include"]).await;
    let challenge = String::from_utf8(challenge.body).unwrap();
    let (_, metadata) = challenge.split_once("resource_metadata=\"").unwrap();
    let metadata = ada.json(metadata.split_once('"').unwrap().0, &[]).await;
    assert_eq!(metadata["resource"], RESOURCE);
    assert_eq!(
        metadata["authorization_servers"],
        json!(["https://id.example.com"])
    );
    let endpoint = ada.json(METADATA, &[]).await["registration_endpoint"].clone();
    let callback = "http://127.0.0.1:1/callback";
    let scope = "tools:read tools:call";
    let registration = json!({ "client_name": "A client", "redirect_uris": [callback],
        "application_type": "native", "token_endpoint_auth_method": "none", "scope": scope,
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"] })
    .to_string();
    let body = [
        "--header",
        "Content-Type: application/json",
        "--data",
        registration.as_str(),
    ];
    let client = ada.json(endpoint.as_str().unwrap(), &body).await;
    let client = client["client_id"].as_str().unwrap();
    let client_token = ada.log_in(client, callback, scope, "ada").await;

    let app = "https://app.example.com/";
    let page_token = ada.log_in("app", app, "page query", "ada").await;
    let mut page = deployment.connect_page("", "tab", &page_token).await;
    register(&mut page, &["echo"]).await;

    let authorization = format!("Authorization: Bearer {client_token}");
    let call = json!({ "toolName": "echo", "toolInput": {} }).to_string();
    let call = [
        "--header",
        authorization.as_str(),
        "--header",
        "Content-Type: application/json",
        "--data",
        call.as_str(),
    ];
    let answer = deployment.get("2", "/tool-call", &call);
    let (answer, _) = tokio::join!(answer, page.serve_call(json!({ "n": 1 })));
    assert_eq!(answer.json()["structuredContent"], json!({ "n": 1 }));

    // Another user does not see the page, and a page may not call.
    let other_token = ben.log_in(client, callback, scope, "ben").await;
    let call_with = async |token: String| {
        let authorization = format!("Authorization: Bearer {token}");
        let call = [&["--header", authorization.as_str()][..], &call[2..]].concat();
        deployment.get("2", "/tool-call", &call).await
    };
    let result = call_with(other_token).await.json();
    assert_eq!(result["_meta"]["mcp-web/error"]["code"], "NoSessionsFound");
    assert_eq!(call_with(page_token).await.status, "2 403");
}
