//! The overview of the bridges that serve as one, for their operator.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge::ServerHandle;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::kit::*;
use crate::kit::*;
use crate::metrics::{METRICS_TOKEN, config_with_metrics};

const JWT_SECRET: &str = "secret-of-the-issuer-0123456789abcdef";
const ISSUER: &str = "https://id.test";

async fn get_overview(bridge: &ServerHandle, query: &str, token: &str) -> (u16, Value) {
    let url = format!("{}/cluster{query}", bridge.url());
    let response = http_client().get(url).bearer_auth(token).send();
    let response = with_deadline("overview", response).await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

async fn overview(bridge: &ServerHandle, query: &str) -> Value {
    let (status, overview) = get_overview(bridge, query, METRICS_TOKEN).await;
    assert_eq!(status, 200, "{overview}");
    overview
}

fn signed_token(subject: &str) -> String {
    let expires = SystemTime::now() + Duration::from_secs(600);
    let expires = expires.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let scope = "page tools:read tools:call";
    let claims = json!({ "iss": ISSUER, "aud": "mcp-web", "sub": subject, "exp": expires,
        "scope": scope });
    let key = EncodingKey::from_secret(JWT_SECRET.as_bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

#[tokio::test]
async fn each_bridge_lists_the_others_and_what_it_serves() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let view = bridges.directory().await;
    let [first, second] = [view.node_of(owner).await, view.node_of(edge).await];
    let _page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    for (bridge, own, other, served) in [(owner, &first, &second, 1), (edge, &second, &first, 0)] {
        let overview = overview(bridge, "").await;
        let expected = json!({
            "node": own.id.short(),
            "address": own.address,
            "state": "serving",
            "version": own.version,
            "leaseSecondsLeft": overview["leaseSecondsLeft"],
            "isNatsConnected": true,
            "ownedRealms": served,
            "pages": served,
            "calls": 0,
            "nodes": [{
                "node": other.id.short(),
                "address": other.address,
                "state": "serving",
                "version": other.version,
                "renewedSecondsAgo": overview["nodes"][0]["renewedSecondsAgo"],
                "reaches": overview["nodes"][0]["reaches"],
            }],
        });
        assert_eq!(overview, expected);
        let lease = overview["leaseSecondsLeft"].as_f64().unwrap();
        assert!(lease > 0.0 && lease <= 10.0, "{overview}");
        assert!(overview["nodes"][0]["renewedSecondsAgo"].is_f64());
        assert!(overview["nodes"][0]["reaches"].is_array());
    }
}

#[tokio::test]
async fn the_bridge_of_a_user_is_found_by_subject_and_by_token() {
    let bridges = Bridges::start_with(2, |_, config| {
        config.tokens.tokens = vec![TOKEN.to_owned()];
        config.identity.jwt_secret = Some(secret(JWT_SECRET));
        config.identity.jwt_issuer = Some(ISSUER.to_owned());
        config.identity.jwt_audience = vec!["mcp-web".to_owned()];
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let view = bridges.directory().await;
    let node = view.node_of(owner).await;
    let _ada = Page::connect(owner, "a", &signed_token("ada")).await;
    let _listed = Page::connect(owner, "b", TOKEN).await;
    let (id, address) = (node.id.short(), node.address);
    for bridge in [owner, edge] {
        let ada = &overview(bridge, "?user=ada").await["owners"];
        let expected = json!([{ "issuer": ISSUER, "node": id, "address": address }]);
        assert_eq!(*ada, expected);
        let hash = bridge_auth::RealmId::from_token(TOKEN).to_hex();
        let listed = &overview(bridge, &format!("?user={hash}")).await["owners"][0];
        let expected = json!({ "issuer": null, "node": id, "address": address });
        assert_eq!(*listed, expected);
        let nobody = &overview(bridge, "?user=grace").await["owners"];
        let expected = json!([{ "issuer": ISSUER, "node": null, "address": null }]);
        assert_eq!(*nobody, expected);
    }
}

#[tokio::test]
async fn the_overview_needs_the_token_of_metrics_and_a_cluster() {
    let bridges = Bridges::start(1).await;
    let (status, answer) = get_overview(&bridges.nodes[0], "?user=ada", TOKEN).await;
    assert_eq!((status, &answer["owners"]), (401, &Value::Null));
    let without = http_client().get(format!("{}/cluster", bridges.nodes[0].url()));
    assert_eq!(without.send().await.unwrap().status(), 401);
    let alone = start_bridge_with(config_with_metrics()).await;
    assert_eq!(get_overview(&alone, "", METRICS_TOKEN).await.0, 404);
}

#[tokio::test]
async fn without_nats_the_overview_remains_and_users_are_not_found() {
    let mut bridges = Bridges::start(2).await;
    bridges.nats.stop();
    let bridge = &bridges.nodes[0];
    wait_for_metrics(bridge, "the loss of NATS", |it| {
        it["mcp_web_cluster_engine_up"] == 0.0
    })
    .await;
    assert_eq!(overview(bridge, "").await["isNatsConnected"], false);
    let hash = bridge_auth::RealmId::from_token(TOKEN).to_hex();
    let (status, answer) = get_overview(bridge, &format!("?user={hash}"), METRICS_TOKEN).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (503, Some("ClusterUnavailable"))
    );
}
