//! Arguments that take as long to validate as they may.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Attacker;
use super::client::{Answer, OwnPage, TOKEN, tool, tool_call};

/// The number of callers.
const CALLERS: usize = 24;

/// The number of schemas that each number is validated against.
const SCHEMAS: usize = 100;

/// As many numbers as a request may have.
const MOST_NUMBERS: usize = 2_000_000;

/// As many numbers as 100 schemas may be applied to within the limit of steps.
const VALIDATED_NUMBERS: usize = 190_000;

/// Calls a tool with numbers, half of the calls with more of them than are validated. The last
/// argument is invalid, so that no call reaches the page.
pub(super) async fn validation(attacker: &Attacker) {
    let answer = Answer::Result("null".to_owned());
    let Ok(_page) = OwnPage::open(attacker, sum_tool(), answer).await else {
        return;
    };
    let address = attacker.address();
    let requests = Arc::new([VALIDATED_NUMBERS, MOST_NUMBERS].map(|count| {
        let count = if attacker.is_trial() {
            count / 1_000
        } else {
            count
        };
        let numbers = "1,".repeat(count);
        tool_call(
            address,
            TOKEN,
            "sum",
            &format!(r#"{{"numbers":[{numbers}""]}}"#),
        )
    }));
    let part = move |attacker: Attacker, peer: usize| {
        let requests = Arc::clone(&requests);
        async move {
            let mut connection = attacker.connect_client().await?;
            loop {
                connection.request(&requests[peer % requests.len()]).await?;
                attacker.count(1);
                if attacker.is_trial() {
                    return Ok(());
                }
            }
        }
    };
    attacker.repeat(CALLERS, part).await;
}

fn sum_tool() -> Value {
    let schemas: Vec<Value> = (0..SCHEMAS)
        .map(|minimum| json!({ "type": "number", "minimum": -(minimum as i64) }))
        .collect();
    let numbers = json!({ "type": "array", "items": { "allOf": schemas } });
    tool(
        "sum",
        &json!({ "type": "object", "properties": { "numbers": numbers } }),
    )
}
