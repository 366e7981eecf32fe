use bridge_protocol::ErrorCode;
use bridge_raw_json::RawJson;
use bridge_realm::realm::{CallFailure, CallOutcome, PageAnswer};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::agent_queries::AgentQueries;
use crate::budget::occupy;
use crate::calls::tool_outcome::finish_result;
use crate::calls::tools::validate_input;
use crate::config::Config;
use bridge_mcp_results::arguments::Arguments;

fn hub() -> Arc<Hub> {
    Hub::new(
        Config::default(),
        |_, _| Ok(()),
        Arc::<AgentQueries>::default(),
    )
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// A tool whose arguments and results have an array of integers, `v`.
fn tool() -> Arc<SharedTool> {
    let schema = json!({ "type": "object",
        "properties": { "v": { "items": { "type": "integer" } } } });
    let definition = json!({ "name": "t", "inputSchema": schema, "outputSchema": schema });
    Arc::new(SharedTool::parse(&raw(&definition)).unwrap())
}

fn numbers(count: usize) -> Value {
    json!({ "v": vec![1; count] })
}

/// Validates arguments of a call.
async fn validate_numbers(hub: &Hub, token: &str, count: usize) -> Result<(), CallFailure> {
    let arguments = Arguments::from_raw(raw(&numbers(count)));
    let realm = RealmId::from_token(token);
    let validated = validate_input(hub, realm, &tool(), arguments).await;
    validated.map(drop)
}

#[tokio::test]
async fn only_cheap_validations_run_on_the_thread_of_the_call() {
    let hub = hub();
    let mut occupied = occupy(
        &hub.budgets.cpu_pool,
        RealmId::from_token("a"),
        WorkLength::Short,
        1,
    );
    occupied.extend(occupy(
        &hub.budgets.cpu_pool,
        RealmId::from_token("a"),
        WorkLength::Long,
        1,
    ));

    let inline = validate_numbers(&hub, "a", 1_000).now_or_never();
    assert!(matches!(inline, Some(Ok(()))), "{inline:?}");
    for count in [200_000, 600_000] {
        let waits = validate_numbers(&hub, "a", count).now_or_never();
        assert!(waits.is_none(), "{waits:?}");
        // The work of one token leaves a thread to the others.
        validate_numbers(&hub, "b", count).await.unwrap();
    }
    drop(occupied);
    for count in [200_000, 600_000] {
        validate_numbers(&hub, "a", count).await.unwrap();
    }
}

#[tokio::test]
async fn validations_over_the_limit_of_a_token_are_refused_with_a_code() {
    let hub = hub();
    let occupied = occupy(
        &hub.budgets.cpu_pool,
        RealmId::from_token("a"),
        WorkLength::Short,
        256,
    );

    let refused = validate_numbers(&hub, "a", 200_000).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::CallLimitExceeded);
    assert!(refused.message.contains("retry"), "{}", refused.message);
    let answer = PageAnswer::Value(Some(RawJson::Owned(raw(&numbers(200_000)))));
    let realm = RealmId::from_token("a");
    let result = finish_result(&hub, realm, &tool(), CallOutcome::Answered(answer)).await;
    assert!(result.has_error_code(ErrorCode::ResultTooLarge));

    validate_numbers(&hub, "a", 1_000).await.unwrap();
    validate_numbers(&hub, "b", 200_000).await.unwrap();
    drop(occupied);
}

#[tokio::test]
async fn a_validation_that_is_not_short_continues_as_long_work() {
    let hub = hub();
    let subschemas = vec![json!({ "items": { "type": "integer" } }); 20];
    let schema = json!({ "type": "object", "properties": { "v": { "allOf": subschemas } } });
    let definition = json!({ "name": "t", "inputSchema": schema });
    let tool = Arc::new(SharedTool::parse(&raw(&definition)).unwrap());
    let realm = RealmId::from_token("a");
    let occupied = occupy(
        &hub.budgets.cpu_pool,
        RealmId::from_token("a"),
        WorkLength::Long,
        0,
    );

    let validate = |value: &Value| {
        let (hub, tool) = (Arc::clone(&hub), Arc::clone(&tool));
        let arguments = Arguments::from_raw(raw(value));
        async move { validate_input(&hub, realm, &tool, arguments).await }
    };
    // 40,000 items take 800,000 steps, and 100,000 take 2,000,000.
    validate(&numbers(40_000)).await.unwrap();
    let mut long = tokio::spawn(validate(&numbers(100_000)));
    // While every thread for its long work is occupied, it does not end, however much short work
    // is done.
    for _ in 0..3 {
        validate(&numbers(40_000)).await.unwrap();
    }
    assert!((&mut long).now_or_never().is_none());
    drop(occupied);
    assert!(long.await.unwrap().is_ok());
    let mut invalid = numbers(100_000);
    invalid["v"][99_999] = json!("x");
    let failure = validate(&invalid).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidArguments);
}
