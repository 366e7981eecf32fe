//! OAuth 2.0 Protected Resource Metadata (RFC 9728).

use bridge::Config;
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

const PATHS: [&str; 2] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

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

#[tokio::test]
async fn both_metadata_paths_name_the_authorization_servers() {
    for public_url in [None, Some("https://bridge.example.com/")] {
        let bridge = start_bridge_with(config_with_server(public_url)).await;
        let base = public_url.map_or(bridge.url(), |url| url.trim_end_matches('/').to_owned());
        for path in PATHS {
            let (status, body) = get(format!("{}{path}", bridge.url())).await;
            assert_eq!(status, 200, "{path}");
            let expected = json!({
                "resource": format!("{base}/mcp"),
                "authorization_servers": [ISSUER],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["tools:read", "tools:call"],
            });
            assert_eq!(body, expected, "{path}");
        }
        for (path, token, status) in [
            ("/mcp", None, 401),
            ("/tools", Some("unlisted-token-0123456789".to_owned()), 401),
            (
                "/tools",
                Some(Signer::hs256().sign(&claims("ada", "page", 600.0))),
                403,
            ),
        ] {
            let mut request = http_client().post(format!("{}{path}", bridge.url()));
            if path == "/tools" {
                request = http_client().get(format!("{}{path}", bridge.url()));
            }
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let response = with_deadline("response", request.json(&json!({})).send())
                .await
                .unwrap();
            assert_eq!(response.status().as_u16(), status, "{path}");
            let challenge = response.headers()["www-authenticate"].to_str().unwrap();
            let metadata = format!("resource_metadata=\"{base}{}\"", PATHS[1]);
            assert!(challenge.contains(&metadata), "{challenge}");
            let scope = if status == 401 {
                "scope=\"tools:read tools:call\""
            } else {
                "scope=\"tools:read\""
            };
            assert!(challenge.contains(scope), "{challenge}");
        }
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
