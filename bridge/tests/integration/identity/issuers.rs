//! Several issuers, claims as providers make them, long tokens, and what the metrics say about keys.

use bridge::Identity;
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};

const OTHER_ISSUER: &str = "https://other.test";

/// Claims of an issuer, with one more.
fn claims_with(issuer: &str, name: &str, value: Value) -> Value {
    let mut claims = claims("ada", ALL_SCOPES, 600.0);
    claims["iss"] = json!(issuer);
    claims[name] = value;
    claims
}

/// A token with this number of group ids, which are its roles.
fn token_with_groups(signer: &Signer, count: usize) -> String {
    let groups: Vec<_> = (0..count)
        .map(|number| format!("00000000-0000-4000-8000-{number:012}"))
        .collect();
    signer.sign(&claims_with(ISSUER, "groups", json!(groups)))
}

#[tokio::test]
async fn each_issuer_has_its_keys_audience_and_mapping() {
    let (one, other) = (Signer::es256(Some("key")), Signer::es256(Some("key")));
    let [keys, other_keys] = [
        KeyServer::start(KeyResponse::Keys(jwk_set(&[one.jwk()]))).await,
        KeyServer::start(KeyResponse::Keys(jwk_set(&[other.jwk()]))).await,
    ];
    let mut config = keys.trusting_config();
    config.identity.issuers = vec![Identity {
        jwt_issuer: Some(OTHER_ISSUER.to_owned()),
        jwt_audience: vec!["other-audience".to_owned()],
        jwks_url: Some(other_keys.url.clone()),
        jwt_subject_claim: "oid".to_owned(),
        jwt_scope_claims: vec!["roles".to_owned()],
        jwt_scope_map: vec!["App.Reader=tools:read".to_owned()],
        ..Identity::default()
    }];
    let bridge = start_bridge_with(config).await;
    let url = bridge.url();
    let mut of_other = claims_with(OTHER_ISSUER, "roles", json!(["App.Reader"]));
    of_other["aud"] = json!("other-audience");
    of_other["oid"] = json!("ada");
    let (token, other_token) = (one.token("ada"), other.sign(&of_other));
    assert_eq!(get_tools(&url, &token).await.0, 200);
    assert_eq!(get_tools(&url, &other_token).await.0, 200);
    // The same subject of another issuer is another user.
    let _page = Page::connect(&bridge, "s", &token).await;
    for (token, pages) in [(&token, 1), (&other_token, 0)] {
        let sessions = get_json_as(&bridge, token, "/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), pages);
    }
    // The mapping grants no more than it says.
    let call = http_client().post(format!("{url}/tool-call"));
    let call = call
        .bearer_auth(&other_token)
        .json(&json!({ "toolName": "none" }));
    assert_eq!(call.send().await.unwrap().status(), 403);
    // Keys and audience of the other issuer do not count.
    let mut foreign_audience = of_other.clone();
    foreign_audience["aud"] = json!(AUDIENCE);
    for (token, reason) in [
        (one.sign(&of_other), "signature"),
        (other.token("ada"), "signature"),
        (other.sign(&foreign_audience), "aud"),
        (
            one.sign(&claims_with("https://third.test", "a", json!(1))),
            "iss",
        ),
    ] {
        let (status, _, challenge) = get_tools(&url, &token).await;
        assert_eq!(status, 401, "{reason}");
        assert!(challenge.contains(reason), "{challenge}");
    }
    assert_eq!((keys.request_count(), other_keys.request_count()), (1, 1));
}

#[tokio::test]
async fn invalid_settings_of_an_issuer_stop_the_start() {
    let mut config = config_with_secret();
    config.identity.issuers = vec![config.identity.clone()];
    let error = start_error(config).await.to_string();
    assert!(error.contains("issuer 2: `jwt_issuer`"), "{error}");
    let mut config = config_with_secret();
    config.identity.issuers = vec![Identity::default()];
    let error = start_error(config).await.to_string();
    let expected = "issuer 2: there is nothing to check signed tokens with";
    assert!(error.contains(expected), "{error}");
    let mut config = config_with_secret();
    config.identity.jwt_scope_map = vec!["editor".to_owned()];
    let error = start_error(config).await.to_string();
    assert!(error.contains("`jwt_scope_map` has \"editor\""), "{error}");
    let mut config = config_with_secret();
    config.identity.jwks_url = Some("https://issuer.test/jwks".to_owned());
    config.identity.jwks_max_age = std::time::Duration::from_secs(1);
    let error = start_error(config).await.to_string();
    assert!(error.contains("`jwks_max_age` is shorter"), "{error}");
}

#[tokio::test]
async fn a_token_with_200_groups_is_accepted_everywhere() {
    let mut config = config_with_secret();
    config.identity.jwt_roles_claim = "groups".to_owned();
    let bridge = start_bridge_with(config).await;
    let token = token_with_groups(&Signer::hs256(), 200);
    assert!(
        (4_097..=16 * 1024).contains(&token.len()),
        "{}",
        token.len()
    );
    let mut page = Page::connect(&bridge, "s", &token).await;
    page.register(&[echo_tool()]).await;
    assert!(page.renew(&token).await.is_ok());
    let client = McpClient::connect(&bridge, &token).await;
    client.assert_echo(&mut page).await;

    let too_long = token_with_groups(&Signer::hs256(), 400);
    let (status, _, challenge) = get_tools(&bridge.url(), &too_long).await;
    assert_eq!(status, 401);
    assert!(challenge.contains("at most 16384 bytes"), "{challenge}");
}

#[tokio::test]
async fn metrics_show_the_age_of_keys_failed_fetches_and_expired_tokens() {
    let key = Signer::eddsa(Some("key"));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
    let mut config = issuer.trusting_config();
    config.monitoring = config_with_metrics().monitoring;
    let bridge = start_bridge_with(config).await;
    assert_eq!(get_tools(&bridge.url(), &key.token("ada")).await.0, 200);
    let expired = key.sign(&claims("ada", ALL_SCOPES, -1.0));
    assert_eq!(get_tools(&bridge.url(), &expired).await.0, 401);
    let series = scrape(&bridge).await;
    let age = series["mcp_web_key_age_seconds{issuer=\"1\"}"];
    assert!((0.0..60.0).contains(&age), "{age}");
    let failures = "mcp_web_key_fetch_failures_total{issuer=\"1\"}";
    assert_eq!(series[failures], 0.0);
    let refused = |kind: &str| series[&format!("mcp_web_refusals_total{{kind=\"{kind}\"}}")];
    assert_eq!(
        (refused("expired_token"), refused("invalid_token")),
        (1.0, 0.0)
    );

    issuer.set_response(KeyResponse::Status(500));
    let unknown = Signer::eddsa(Some("unknown")).token("ada");
    assert_eq!(get_tools(&bridge.url(), &unknown).await.0, 503);
    let series = scrape(&bridge).await;
    assert!(series[failures] >= 1.0);
    assert_eq!(
        series["mcp_web_refusals_total{kind=\"keys_unavailable\"}"],
        1.0
    );
}
