//! OAuth 2.0 Protected Resource Metadata (RFC 9728).

use bridge::{Config, ServerHandle};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The paths of the metadata of `/` and `/mcp`.
const PATHS: [&str; 2] = [WELL_KNOWN, "/.well-known/oauth-protected-resource/mcp"];

/// A proxy in front of the bridge, at a public URL with this path.
#[derive(Clone, Copy, Debug)]
struct Proxy {
    path: &'static str,
    /// Whether it passes the path on to the bridge.
    keeps_path: bool,
}

impl Proxy {
    /// Returns the URL at the bridge for a URL at the proxy.
    fn forward(self, bridge: &ServerHandle, origin: &str, url: &str) -> String {
        let path = url.strip_prefix(origin).unwrap();
        let stripped = path.strip_prefix(self.path).filter(|_| !self.keeps_path);
        format!("{}{}", bridge.url(), stripped.unwrap_or(path))
    }
}

/// A configuration with an authorization server.
fn config_with_server(public_url: Option<&str>) -> Config {
    let mut config = config_with_secret();
    config.identity.authorization_servers = vec![ISSUER.to_owned()];
    config.identity.public_url = public_url.map(str::to_owned);
    config
}

async fn get(url: String) -> (u16, Value) {
    let response = with_deadline("response", http_client().get(url).send())
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Sends a request to MCP without a token, and returns the URL of the metadata in the challenge.
async fn metadata_url(url: String) -> String {
    let request = http_client().post(&url).json(&json!({}));
    let response = with_deadline("response", request.send()).await.unwrap();
    assert_eq!(response.status(), 401, "{url}");
    let challenge = response.headers()["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("scope=\"tools:read tools:call\""));
    let (_, metadata) = challenge.split_once("resource_metadata=\"").unwrap();
    metadata.strip_suffix('"').unwrap().to_owned()
}

#[tokio::test]
async fn the_metadata_names_the_url_that_a_client_uses() {
    let no_path = Proxy {
        path: "",
        keeps_path: true,
    };
    let [keeping, stripping] = [true, false].map(|keeps_path| Proxy {
        path: "/apps/bridge",
        keeps_path,
    });
    for (public_url, origin, proxy) in [
        (None, None, no_path),
        (
            Some("https://Bridge.example.com:443/"),
            Some("https://bridge.example.com"),
            no_path,
        ),
        (
            Some("https://example.com:8443/apps/bridge/"),
            Some("https://example.com:8443"),
            keeping,
        ),
        (
            Some("https://example.com/apps/bridge"),
            Some("https://example.com"),
            stripping,
        ),
    ] {
        let bridge = start_bridge_with(config_with_server(public_url)).await;
        let own = bridge.url();
        let origin = origin.unwrap_or(&own);
        for (endpoint, resource) in [("", ""), ("/", ""), ("/mcp", "/mcp"), ("/mcp/", "/mcp/")] {
            let used = format!("{origin}{}{endpoint}", proxy.path);
            let found = metadata_url(proxy.forward(&bridge, origin, &used)).await;
            let found = proxy.forward(&bridge, origin, &found);
            // Clients that ignore the challenge insert the well-known path after the host.
            let inserted = format!("{own}{WELL_KNOWN}{}{resource}", proxy.path);
            let expected = json!({
                "resource": format!("{origin}{}{resource}", proxy.path),
                "authorization_servers": [ISSUER],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["tools:read", "tools:call"],
            });
            let with_slash = match resource {
                "" => format!("{inserted}/"),
                _ => inserted.clone(),
            };
            for url in [found, inserted, with_slash] {
                assert_eq!(get(url.clone()).await, (200, expected.clone()), "{url}");
            }
        }
        let (status, _) = get(format!("{own}{WELL_KNOWN}/nothing")).await;
        assert_eq!(status, 404);
    }
}

#[tokio::test]
async fn a_bridge_serves_everything_below_the_path_of_its_public_url() {
    let mut config = test_config();
    config.identity.public_url = Some("https://example.com/apps/bridge".to_owned());
    let bridge = start_bridge_with(config).await;
    let address = format!("{}/apps/bridge", bridge.local_addr());
    let mut page = Page::connect_to(address, "s", TOKEN).await;
    page.register(&[echo_tool()]).await;
    for path in ["", "/apps/bridge"] {
        let url = format!("{}{path}", bridge.url());
        let call = post_tool_call_to(&url, TOKEN, "echo", json!({ "n": 1 }));
        let ((status, answer), ()) = tokio::join!(call, page.echo_call());
        assert_eq!(
            (status, &answer["structuredContent"]["n"]),
            (200, &json!(1))
        );
        for endpoint in ["", "/", "/mcp", "/mcp/"] {
            let info = json!({ "name": "n", "version": "1" });
            let request = initialize_request("2025-11-25", json!({}), info);
            let request = http_client()
                .post(format!("{url}{endpoint}"))
                .bearer_auth(TOKEN)
                .header("accept", "application/json, text/event-stream")
                .body(request.to_string());
            let response = with_deadline("response", request.send()).await.unwrap();
            assert_eq!(response.status(), 200, "{url}{endpoint}");
            assert!(response.headers().contains_key("mcp-session-id"));
        }
    }
    for (path, status) in [
        ("/apps/bridge/nothing", 404),
        ("/apps/bridgemcp", 404),
        ("/apps", 404),
    ] {
        let response = http_client().get(format!("{}{path}", bridge.url()));
        let response = with_deadline("response", response.send()).await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
}

#[tokio::test]
async fn clients_request_scopes_under_the_names_of_their_server() {
    let (read, call) = ("api://bridge/Read", "api://bridge/Call");
    let mut config = config_with_server(None);
    config.identity.oauth_scopes = vec![read.to_owned(), call.to_owned()];
    config.identity.jwt_scope_map = vec![format!("{read}=tools:read")];
    let bridge = start_bridge_with(config).await;
    let (_, metadata) = get(format!("{}{WELL_KNOWN}/mcp", bridge.url())).await;
    assert_eq!(metadata["scopes_supported"], json!([read, call]));
    let signer = Signer::hs256();
    let (reader, page) = (
        signer.sign(&claims("ada", read, 600.0)),
        signer.sign(&claims("ada", "tools:call", 600.0)),
    );
    let both = format!("{read} {call}");
    for (path, token, status, scope) in [
        ("/tools", "unlisted-token-0123456789", 401, both.as_str()),
        ("/tools", &page, 403, &both),
        ("/tools", &reader, 200, ""),
        ("/conversations", &reader, 403, "tools:read query"),
    ] {
        let request = http_client().get(format!("{}{path}", bridge.url()));
        let response = with_deadline("response", request.bearer_auth(token).send()).await;
        let response = response.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path} {scope}");
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.map_or("", |it| it.to_str().unwrap());
        let named = challenge.contains(&format!("scope=\"{scope}\""));
        assert!(named || status == 200, "{challenge}");
    }
    let mut config = config_with_server(None);
    config.identity.oauth_scopes = vec!["two words".to_owned()];
    let error = start_error(config).await.to_string();
    assert!(
        error.contains("`oauth_scopes` has \"two words\""),
        "{error}"
    );
}

#[tokio::test]
async fn a_challenge_of_another_route_names_the_metadata_of_mcp() {
    let bridge = start_bridge_with(config_with_server(None)).await;
    for (token, status, scope) in [
        (
            "unlisted-token-0123456789".to_owned(),
            401,
            "tools:read tools:call",
        ),
        (
            Signer::hs256().sign(&claims("ada", "page", 600.0)),
            403,
            "tools:read",
        ),
    ] {
        let request = http_client().get(format!("{}/tools", bridge.url()));
        let response = with_deadline("response", request.bearer_auth(token).send()).await;
        let response = response.unwrap();
        assert_eq!(response.status().as_u16(), status);
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        let metadata = format!("resource_metadata=\"{}{}\"", bridge.url(), PATHS[1]);
        assert!(challenge.contains(&metadata), "{challenge}");
        assert!(
            challenge.contains(&format!("scope=\"{scope}\"")),
            "{challenge}"
        );
    }
}

#[tokio::test]
async fn the_endpoints_of_a_login_say_how_clients_get_a_token() {
    let endpoints = [
        "/authorize?response_type=code",
        "/register",
        "/token",
        "/oauth/token",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/mcp/.well-known/openid-configuration",
    ];
    for (config, expected) in [
        (
            test_config(),
            "has no login: give the client a token of the page's user",
        ),
        (config_with_server(None), ISSUER),
    ] {
        let bridge = start_bridge_with(config).await;
        for path in endpoints {
            for method in ["GET", "POST"] {
                let url = format!("{}{path}", bridge.url());
                let request = http_client().request(method.parse().unwrap(), url);
                let response = with_deadline("response", request.send()).await.unwrap();
                assert_eq!(response.status(), 404, "{method} {path}");
                let body: Value = response.json().await.unwrap();
                for member in ["message", "error_description"] {
                    assert!(body[member].as_str().unwrap().contains(expected), "{body}");
                }
            }
        }
        let (status, body) = get(format!("{}/nothing", bridge.url())).await;
        assert_eq!((status, &body["error"]), (404, &json!("UnknownMethod")));
        assert_eq!(body["message"], "there is no /nothing");
    }
}

#[tokio::test]
async fn metadata_is_404_without_an_authorization_server() {
    for config in [test_config(), config_with_secret()] {
        let bridge = start_bridge_with(config).await;
        for path in PATHS {
            let (status, body) = get(format!("{}{path}", bridge.url())).await;
            assert_eq!(status, 404, "{path}: {body}");
        }
        let request = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .json(&json!({}));
        let response = with_deadline("response", request.send()).await.unwrap();
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert_eq!(challenge, "Bearer realm=\"mcp-web\"");
    }
}

#[tokio::test]
async fn metadata_requests_are_subject_to_host_and_origin_checks() {
    let bridge = start_bridge_with(config_with_server(None)).await;
    let origin = "http://localhost:5173";
    for path in PATHS {
        let url = format!("{}{path}", bridge.url());
        for (header, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
            let foreign = http_client().get(&url).header(header, value);
            let response = with_deadline("response", foreign.send()).await.unwrap();
            assert_eq!(response.status(), 403, "{header}");
        }
        let own = http_client().get(&url).header("origin", origin);
        let own = with_deadline("response", own.send()).await.unwrap();
        assert_eq!(own.status(), 200);
        assert_eq!(own.headers()["access-control-allow-origin"], origin);
    }
    let request = http_client().get(format!("{}/tools", bridge.url()));
    let response = request.header("origin", origin).send();
    let response = with_deadline("response", response).await.unwrap();
    let exposed = response.headers()["access-control-expose-headers"].to_str();
    assert!(exposed.unwrap().contains("www-authenticate"));
}
