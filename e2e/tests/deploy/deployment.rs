//! A bridge behind a proxy, with the files of `docs/deploy`, and its pages and clients.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use e2e::{ProcessGroup, ReservedPort, program_paths, with_deadline};
use raw_page::Page;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::certificates::Certificates;
use crate::deploy_file::{deploy_file, replaced};
use crate::page_tunnel::PageTunnel;
use crate::proxy::{ProxyKind, ProxySetup};

/// The host of the bridge in all files.
pub(crate) const HOST: &str = "bridge.example.com";

/// The host of the identity provider in all files.
pub(crate) const PROVIDER_HOST: &str = "id.example.com";

/// The origin of pages in all files.
const ORIGIN: &str = "https://app.example.com";

/// The address that clients send from.
pub(crate) const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The address that pages send from.
pub(crate) const PAGE_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// The versions of HTTP that clients use.
pub(crate) const HTTP_VERSIONS: [&str; 2] = ["1.1", "2"];

/// A bridge and its proxy. Both end when it is dropped.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) bridge: ProcessGroup,
    proxy: ProcessGroup,
    proxy_port: ReservedPort,
    _bridge_port: ReservedPort,
    tunnel: PageTunnel,
    folder: TempDir,
}

/// The parts that are not as in the files of `docs/deploy`, besides ports, paths and accounts.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    /// The patterns that are replaced in the settings of the bridge.
    pub(crate) bridge: &'a [(&'a str, &'a str)],
    /// The patterns that are replaced in the file of the proxy.
    pub(crate) proxy: &'a [(&'a str, &'a str)],
    /// Where the bridge fetches the keys of signed tokens. Without it, it has a list of tokens.
    pub(crate) jwks_url: Option<&'a str>,
    /// The address of the identity provider behind the same nginx.
    pub(crate) provider: Option<SocketAddr>,
}

/// The answer that curl got.
#[derive(Debug)]
pub(crate) struct CurlAnswer {
    /// The version of HTTP and the status: `2 200`.
    pub(crate) status: String,
    pub(crate) body: Vec<u8>,
}

impl CurlAnswer {
    /// Parses the body.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("not JSON: {}", String::from_utf8_lossy(&self.body)))
    }
}

impl Deployment {
    /// Starts a bridge and this proxy.
    pub(crate) async fn start(kind: ProxyKind) -> Self {
        Self::start_with(kind, Changes::default()).await
    }

    /// Starts a bridge and this proxy with further changes.
    pub(crate) async fn start_with(kind: ProxyKind, changes: Changes<'_>) -> Self {
        let folder = TempDir::with_prefix("mcp-web-deploy-").unwrap();
        // The workers of nginx have another account.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let certificates = Certificates::write_into(folder.path());
        let [bridge_port, proxy_port] = [(); 2].map(|()| ReservedPort::reserve());
        let text = bridge_settings(folder.path(), bridge_port.address(), changes.jwks_url);
        let file = folder.path().join("bridge.toml");
        fs::write(&file, replaced(&text, changes.bridge)).unwrap();
        let mut command = Command::new(program_paths::mcp_web());
        command.args(["bridge", "--config"]).arg(file);
        command.args(["--audit", "calls", "--log", "info"]);
        let mut bridge = ProcessGroup::start("bridge", command);
        bridge.wait_for_line("listening on http://").await;
        let setup = ProxySetup {
            listen: proxy_port.address(),
            bridge: bridge_port.address(),
            folder: folder.path(),
        };
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        if let Some(provider) = changes.provider {
            let site = setup.provider_site(provider);
            fs::write(folder.path().join("conf.d/oidc-provider.conf"), site).unwrap();
        }
        let deployment = Self {
            bridge,
            proxy: kind.start(&setup, changes.proxy).await,
            tunnel: PageTunnel::start(proxy_port.address(), certificates.root_store()).await,
            proxy_port,
            _bridge_port: bridge_port,
            folder,
        };
        // curl tries again until the proxy listens.
        let retry = [
            "--retry",
            "100",
            "--retry-connrefused",
            "--retry-delay",
            "1",
        ];
        deployment.get("2", "/", &retry).await;
        deployment
    }

    /// Returns what the proxy has printed.
    pub(crate) fn proxy_log(&self) -> String {
        self.proxy.log()
    }

    /// Opens the socket of a page below a path of the host, with further headers.
    pub(crate) async fn open_page(
        &self,
        path: &str,
        session: &str,
        headers: &[(&'static str, &str)],
    ) -> Page {
        let address = format!("{}{path}", self.tunnel.address());
        let own = [("host", HOST), ("origin", ORIGIN)];
        let headers = [&own[..], headers].concat();
        Page::open_with_headers(address, session, &headers).await
    }

    /// Connects a page of a user.
    pub(crate) async fn connect_page(&self, path: &str, session: &str, token: &str) -> Page {
        let mut page = self.open_page(path, session, &[]).await;
        page.authenticate(session, token).await;
        page.recv_authenticated().await;
        page
    }

    /// Connects a page of the first user, with tools of these names.
    pub(crate) async fn page_with_tools(&self, names: &[&str]) -> Page {
        let mut page = self.connect_page("", "tab", &user_token(0)).await;
        register(&mut page, names).await;
        page
    }

    /// Returns the command of a client that sends a request to the bridge in this version of HTTP.
    pub(crate) fn curl(&self, version: &str, path: &str, arguments: &[&str]) -> Command {
        self.curl_to(version, &format!("https://{HOST}{path}"), arguments)
    }

    /// Returns the command of a client that sends a request to a URL behind the proxy.
    pub(crate) fn curl_to(&self, version: &str, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("curl");
        let authorities = self.folder.path().join("ca.pem");
        command
            .args([
                "--disable",
                "--silent",
                "--show-error",
                "--no-buffer",
                "--noproxy",
                "*",
            ])
            .arg(format!("--http{version}"))
            .arg("--cacert")
            .arg(authorities)
            .arg("--connect-to")
            .arg(format!("::{}", self.proxy_port.address()))
            .args(["--interface", &CLIENT_ADDRESS.to_string()])
            .args(arguments)
            .arg(url)
            .kill_on_drop(true);
        command
    }

    /// Sends a request, and returns the answer.
    pub(crate) async fn get(&self, version: &str, path: &str, arguments: &[&str]) -> CurlAnswer {
        let mut command = self.curl(version, path, arguments);
        command.args(["--write-out", "%{stderr}%{http_version} %{http_code}"]);
        let output = with_deadline(format!("the answer of {path}"), command.output()).await;
        let output = output.unwrap();
        let status = String::from_utf8(output.stderr).unwrap();
        let is_answered = output.status.success();
        assert!(is_answered, "{path}: {status}; {}", self.proxy_log());
        CurlAnswer {
            status,
            body: output.stdout,
        }
    }

    /// Calls a tool of the first user, and returns the answer.
    pub(crate) async fn call(&self, version: &str, tool: &str, arguments: &[&str]) -> CurlAnswer {
        let call = tool_call(tool);
        let mut all: Vec<_> = call.iter().map(String::as_str).collect();
        all.extend(arguments);
        self.get(version, "/tool-call", &all).await
    }

    /// Returns the command that calls a tool of the first user.
    pub(crate) fn curl_call(&self, version: &str, tool: &str, arguments: &[&str]) -> Command {
        let call = tool_call(tool);
        let mut all: Vec<_> = call.iter().map(String::as_str).collect();
        all.extend(arguments);
        self.curl(version, "/tool-call", &all)
    }
}

/// Registers tools of these names.
pub(crate) async fn register(page: &mut Page, names: &[&str]) {
    let tools = names.iter().map(|name| {
        json!({ "name": name, "description": "Says it again", "inputSchema": { "type": "object" } })
    });
    page.register(&tools.collect::<Vec<_>>()).await;
}

/// Returns the token of a user.
pub(crate) fn user_token(user: usize) -> String {
    format!("a-token-of-user-{user:04}")
}

/// Returns the arguments of curl for a call by the first user.
fn tool_call(tool: &str) -> [String; 6] {
    let token = user_token(0);
    [
        "--header".to_owned(),
        format!("Authorization: Bearer {token}"),
        "--header".to_owned(),
        "Content-Type: application/json".to_owned(),
        "--data".to_owned(),
        json!({ "toolName": tool, "toolInput": {} }).to_string(),
    ]
}

/// Returns the settings of the bridge, for signed tokens or for a list of tokens, which is written into
/// the folder.
fn bridge_settings(folder: &Path, address: SocketAddr, jwks_url: Option<&str>) -> String {
    let settings = replaced(
        &deploy_file("bridge.toml"),
        &[
            ("127.0.0.1:3001", &address.to_string()),
            (
                "/var/lib/mcp-web",
                &folder.join("state").display().to_string(),
            ),
        ],
    );
    // The socket of administration, if there is one.
    let settings = settings.replace("/run/mcp-web", &folder.display().to_string());
    if let Some(jwks_url) = jwks_url {
        return replaced(&settings, &[("https://id.example.com/jwks", jwks_url)]);
    }
    let tokens = folder.join("tokens");
    let lines: String = (0..100).map(|user| user_token(user) + "\n").collect();
    fs::write(&tokens, lines).unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    settings_with_tokens(&settings, &tokens)
}

/// Returns the settings with a list of tokens in place of signed tokens.
pub(crate) fn settings_with_tokens(settings: &str, tokens: &Path) -> String {
    let (common, _) = settings
        .split_once("\n# Instead of these four, token_file = ")
        .expect("the file says what a list of tokens replaces");
    let tokens = tokens.display().to_string();
    format!("{common}\ntoken_file = {tokens:?}\n")
}
