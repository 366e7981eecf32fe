//! Calls of the attacker's own page.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Attacker;
use super::client::{Answer, OwnPage, TOKEN, tool, tool_call};

/// The number of clients that leave.
const LEAVING: usize = 64;

/// How long a client waits for its call to reach the page.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The number of calls at the same time: more than a token may have in flight.
const UNANSWERED: usize = 300;

/// The number of callers without a pause.
const CALLERS: usize = 64;

/// Calls, and leaves without a word before the answer.
pub(super) async fn abandoned(attacker: &Attacker) {
    let calls = Arc::new(Semaphore::new(0));
    let answer = Answer::Never(Arc::clone(&calls));
    let Ok(_page) = OwnPage::open(attacker, any_tool(), answer).await else {
        return;
    };
    let request = tool_call(attacker.address(), TOKEN, "any", "{}");
    let part = move |attacker: Attacker, _| {
        let (request, calls) = (request.clone(), Arc::clone(&calls));
        async move {
            let mut socket = attacker.connect().await?;
            socket.write_all(&request).await?;
            // The call, or another one, has reached the page.
            timeout(MAX_WAIT, calls.acquire()).await??.forget();
            socket.set_zero_linger()?;
            attacker.count(1);
            Ok(())
        }
    };
    attacker.repeat(LEAVING, part).await;
}

/// Waits for answers that do not come, with more calls than a token may have. Those that are
/// refused are made again.
pub(super) async fn unanswered(attacker: &Attacker) {
    let answer = Answer::Never(Arc::new(Semaphore::new(0)));
    let Ok(_page) = OwnPage::open(attacker, any_tool(), answer).await else {
        return;
    };
    let request = tool_call(attacker.address(), TOKEN, "any", "{}");
    let part = move |attacker: Attacker, _| {
        let request = request.clone();
        async move {
            let mut connection = attacker.connect_client().await?;
            loop {
                attacker.count(1);
                if attacker.is_trial() {
                    return Ok(());
                }
                connection.request(&request).await?;
            }
        }
    };
    attacker.repeat(UNANSWERED, part).await;
}

/// Calls a page that answers, as fast as it answers.
pub(super) async fn flood(attacker: &Attacker) {
    let answer = Answer::Result(r#"{"ok":true}"#.to_owned());
    let Ok(_page) = OwnPage::open(attacker, any_tool(), answer).await else {
        return;
    };
    let request = tool_call(attacker.address(), TOKEN, "any", "{}");
    let part = move |attacker: Attacker, _| {
        let request = request.clone();
        async move {
            let mut connection = attacker.connect_client().await?;
            loop {
                connection.request(&request).await?;
                attacker.count(1);
                if attacker.is_trial() {
                    return Ok(());
                }
            }
        }
    };
    attacker.repeat(CALLERS, part).await;
}

fn any_tool() -> Value {
    tool("any", &json!({ "type": "object" }))
}
