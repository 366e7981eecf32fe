//! Who calls: a script and AI clients of both eras, some of which lose their patience.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::page::TOOL;
use crate::socket_faults::invariants::{CallOutcome, InvariantChecker};
use crate::{Era, McpClient, PlainHttp, TestBed, Transport};

/// Longer than any call may take: the call's own time, the grace, and a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The clients of one schedule.
pub(super) struct Callers {
    plain: PlainHttp,
    earlier: McpClient,
    modern: McpClient,
    /// How often the bridge was restarted.
    restarts: watch::Receiver<u64>,
}

/// How a call reaches the bridge.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallerKind {
    Plain,
    Earlier,
    Modern,
}

impl Callers {
    pub(super) async fn connect(world: &TestBed, restarts: watch::Receiver<u64>) -> Self {
        Self {
            plain: PlainHttp::new(world),
            earlier: McpClient::connect(world, Transport::Http, Era::Initialize).await,
            modern: McpClient::connect(world, Transport::Http, Era::Discover).await,
            restarts,
        }
    }

    /// Makes a call and tells the oracle how it ended.
    pub(super) async fn call(
        &self,
        oracle: &InvariantChecker,
        number: u64,
        way: CallerKind,
        session: &str,
        patience: Option<Duration>,
    ) {
        oracle.call_made(number);
        let call = async {
            match way {
                CallerKind::Plain => {
                    let input = json!({ "n": number });
                    let result = self.plain.call_in_session(session, TOOL, input).await;
                    result.map_or(CallOutcome::Lost, |result| outcome_of(&result))
                }
                CallerKind::Earlier => self.earlier(number, session).await,
                CallerKind::Modern => attempt(&self.modern, number, session).await,
            }
        };
        let how = match timeout(patience.unwrap_or(CALL_TIMEOUT), call).await {
            Ok(how) => how,
            Err(_) if patience.is_some() => CallOutcome::Lost,
            Err(_) => {
                oracle.record_violation(format!("call {number} ({way:?}) has no ending"));
                CallOutcome::Lost
            }
        };
        oracle.call_ended(number, how);
    }

    /// rmcp's client of the earlier era goes on trying to resume a stream of a bridge that is not
    /// there any more. Its owner sees the bridge end, and gives up what was under way.
    async fn earlier(&self, number: u64, session: &str) -> CallOutcome {
        let mut restarts = self.restarts.clone();
        restarts.mark_unchanged();
        tokio::select! {
            how = attempt(&self.earlier, number, session) => how,
            _ = restarts.changed() => CallOutcome::Lost,
        }
    }
}

async fn attempt(client: &McpClient, number: u64, session: &str) -> CallOutcome {
    let arguments = json!({ "n": number, "session_id": session });
    match client.try_call(TOOL, arguments).await {
        Ok(result) => outcome_of(&serde_json::to_value(result).expect("it is plain data")),
        Err(_) => CallOutcome::Lost,
    }
}

/// What the MCP result says, or the JSON error of a refusal.
fn outcome_of(result: &Value) -> CallOutcome {
    let code = &result["_meta"]["mcp-web/error"];
    let code = code.as_str().or_else(|| result["code"].as_str());
    match code {
        Some(code) => CallOutcome::Failed(code.to_owned()),
        None if result["content"].is_array() && result["isError"] != true => CallOutcome::Answered,
        None => CallOutcome::Failed(result.to_string()),
    }
}
