//! The routes for a supervisor, a load balancer and a Prometheus server.

use reqwest::Method;
use serde_json::json;

use crate::kit::*;

/// The routes, with whether each accepts the credential of a bridge, `metrics_token`, and no token.
const ROUTES: [(&str, &str, [bool; 3]); 7] = [
    ("GET", "/healthz", [true, true, true]),
    ("GET", "/readyz", [true, true, true]),
    ("GET", "/metrics", [false, true, false]),
    ("PUT", "/query/a", [true, false, false]),
    ("DELETE", "/query/a", [true, false, false]),
    ("GET", "/conversations", [true, false, false]),
    ("POST", "/agui", [true, false, false]),
];

#[tokio::test]
async fn each_token_is_valid_for_its_routes_only() {
    let bed = TestBed::start().await;
    for (method, path, accepted) in ROUTES {
        let tokens = [Some(CREDENTIAL), Some(METRICS_TOKEN), None];
        for (token, is_accepted) in tokens.into_iter().zip(accepted) {
            let url = format!("http://{}{path}", bed.agent.local_addr());
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = http_client().request(method, url);
            let request = match token {
                Some(token) => request.bearer_auth(token),
                None => request,
            };
            let (status, body) = status_and_body(request).await;
            assert_eq!(status != 401, is_accepted, "{path} {token:?}: {body}");
            assert!(!body.to_string().contains(METRICS_TOKEN), "{body}");
        }
    }
}

#[tokio::test]
async fn without_a_metrics_token_there_are_no_metrics() {
    let bed = TestBed::start_with(agent::Config {
        metrics_token: None,
        ..settings()
    })
    .await;
    let url = format!("http://{}/metrics", bed.agent.local_addr());
    let request = http_client().get(url).bearer_auth(CREDENTIAL);
    let (status, refused) = status_and_body(request).await;
    assert_eq!((status, &refused["code"]), (404, &json!("UnknownMethod")));
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`metrics_token`"), "{message}");
}

#[tokio::test]
async fn the_metrics_token_is_not_a_credential() {
    let error = agent::bind(agent::Config {
        token: settings().metrics_token,
        ..settings()
    })
    .await
    .unwrap()
    .serve("http://127.0.0.1:9")
    .unwrap_err()
    .to_string();
    assert!(error.contains("`metrics_token`"), "{error}");
    assert!(!error.contains(METRICS_TOKEN), "{error}");
}

#[tokio::test]
async fn the_agent_is_ready_while_its_bridge_and_model_cannot_be_reached() {
    let bound = agent::bind(settings()).await.unwrap();
    let agent = bound.serve("http://127.0.0.1:9").unwrap();
    let url = format!("http://{}/readyz", agent.local_addr());
    let (status, body) = status_and_body(http_client().get(url)).await;
    assert_eq!((status, body), (200, json!({ "status": "ready" })));
}
