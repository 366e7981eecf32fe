//! Who may ask the agent.

use bridge::Config;
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::json;

use super::issuer::*;
use crate::agent::{SmallAgent, UUID};
use crate::kit::*;

#[tokio::test]
async fn a_page_asks_the_agent_with_the_scope_for_it_only_and_a_fresh_token_can_bring_that() {
    let mut agent = SmallAgent::start().await;
    let config = Config {
        agent: agent.config().agent,
        ..trusting_secret()
    };
    let bridge = bridge_with(config).await;
    let token = |scope| Signer::hs256().sign(&claims("ada", scope, 600.0));
    let mut page = Page::connect(&bridge, "asks", &token("page")).await;
    let query = json!({ "type": "query", "uuid": UUID, "prompt": "what?", "context": [] });
    page.say_json(query.clone()).await;
    let refused = page
        .hear_some(|message| match message {
            BridgeToPage::QueryFailure(failure) => Some(failure),
            _ => None,
        })
        .await;
    assert_eq!(refused.code, ErrorCode::InsufficientScope);
    assert!(refused.error.contains("`query`"), "{}", refused.error);
    let renew = json!({ "type": "renew", "authToken": token("page query") });
    page.say_json(renew).await;
    page.hear_some(|message| matches!(message, BridgeToPage::Renewed(_)).then_some(()))
        .await;
    page.say_json(query).await;
    assert_eq!(agent.accept().await.uuid, UUID);
}
