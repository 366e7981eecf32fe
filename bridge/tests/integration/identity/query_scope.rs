//! The scope `query`, which a page needs to send queries to the agent.

use bridge::{Compat, Config};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::mock_agent::{MockAgent, UUID};
use crate::kit::*;

#[tokio::test]
async fn a_page_query_needs_the_query_scope_which_a_renewed_token_can_add() {
    let mut agent = MockAgent::start().await;
    let config = Config {
        agent: agent.config().agent,
        ..config_with_secret()
    };
    let bridge = start_bridge_with(config).await;
    let token = |scope| Signer::hs256().sign(&claims("ada", scope, 600.0));
    let mut page = Page::connect(&bridge, "asks", &token("page")).await;
    let query = json!({ "type": "query", "uuid": UUID, "prompt": "what?", "context": [] });
    page.send_json(query.clone()).await;
    let failure = page
        .recv_matching(|message| match message {
            BridgeToPage::QueryFailure(failure) => Some(failure),
            _ => None,
        })
        .await;
    assert_eq!(failure.code, ErrorCode::InsufficientScope);
    assert!(failure.error.contains("`query`"), "{}", failure.error);
    page.renew(&token("page query")).await.unwrap();
    page.send_json(query).await;
    assert_eq!(agent.accept_query().await.uuid, UUID);
}

#[tokio::test]
async fn a_query_id_adds_no_permissions_to_the_token_of_a_compat_client() {
    let mut agent = MockAgent::start().await;
    let mut config = config_with_secret();
    config.agent = agent.config().agent;
    config.compatibility.compat = Some(Compat::McpWeb);
    config.network.allowed_hosts = vec!["loopback".to_owned(), "bridge.example.com".to_owned()];
    let bridge = start_bridge_with(config).await;
    let token = |scope| Signer::hs256().sign(&claims("ada", scope, 600.0));
    let mut page = Page::connect(&bridge, "asks", &token("page query")).await;
    page.register(&[echo_tool()]).await;
    let query = json!({ "type": "query", "uuid": UUID, "prompt": "what?", "context": [] });
    page.send_json(query).await;
    agent.accept_query().await;
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "queryId": UUID } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let call_with_token = async |token: String| -> Value {
        let request = http_client()
            .post(format!("{}/mcp", bridge.url()))
            .json(&call);
        let sent = request.bearer_auth(token).send();
        let response = with_deadline("response", sent).await.unwrap();
        response.json().await.unwrap()
    };
    for scope in ["page query", "tools:read"] {
        let rejected = call_with_token(token(scope)).await;
        let message = &rejected["error"]["message"];
        assert_eq!(message, "InvalidAuthentication", "{scope}: {rejected}");
    }
    let (answer, ()) = tokio::join!(call_with_token(token("tools:call")), page.echo_call());
    assert!(answer["result"]["content"].is_array(), "{answer}");
}
