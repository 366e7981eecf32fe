//! A bridge below a path of its host.

use serde_json::{Value, json};

use crate::deployment::{Changes, Deployment, HTTP_VERSIONS, register, user_token};
use crate::proxy::ProxyKind;

const PUBLIC_URL: (&str, &str) = (
    "\"https://bridge.example.com\"",
    "\"https://bridge.example.com/apps/bridge\"",
);
const LOCATION: (&str, &str) = ("location / {", "location /apps/bridge/ {");

#[tokio::test]
async fn a_proxy_may_keep_the_path() {
    is_served_below_its_path(&[LOCATION]).await;
}

#[tokio::test]
async fn a_proxy_may_remove_the_path() {
    let removes = ("proxy_pass http://bridge;", "proxy_pass http://bridge/;");
    is_served_below_its_path(&[LOCATION, removes]).await;
}

async fn is_served_below_its_path(proxy_changes: &[(&str, &str)]) {
    let changes = Changes {
        bridge: &[PUBLIC_URL],
        proxy: proxy_changes,
        ..Changes::default()
    };
    let deployment = Deployment::start_with(ProxyKind::Nginx, changes).await;
    let token = user_token(0);
    let mut page = deployment.connect_page("/apps/bridge", "tab", &token).await;
    register(&mut page, &["echo"]).await;
    let authorization = format!("Authorization: Bearer {token}");
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "curl", "version": "1" } } })
    .to_string();
    let call = json!({ "toolName": "echo", "toolInput": {} }).to_string();
    let headers = [
        "--header",
        authorization.as_str(),
        "--header",
        "Content-Type: application/json",
        "--header",
        "Accept: application/json, text/event-stream",
    ];
    let post = async |version: &str, path: &str, body: &str| {
        let arguments = [&headers[..], &["--data", body]].concat();
        let path = format!("/apps/bridge{path}");
        let answer = deployment.get(version, &path, &arguments).await;
        assert_eq!(answer.status, format!("{version} 200"), "{path}");
        String::from_utf8(answer.body).unwrap()
    };
    for version in HTTP_VERSIONS {
        // A redirect to another path would lose the body.
        for path in ["/", "/mcp", "/mcp/"] {
            let answer = post(version, path, &initialize).await;
            assert!(
                answer.contains("\"protocolVersion\":\"2025-11-25\""),
                "{answer}"
            );
        }
        let (answer, _) = tokio::join!(
            post(version, "/tool-call", &call),
            page.serve_call(json!({ "n": 1 }))
        );
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["structuredContent"], json!({ "n": 1 }));
        let health = deployment.get(version, "/apps/bridge/healthz", &[]).await;
        assert_eq!(health.body, b"ok");
    }
}
