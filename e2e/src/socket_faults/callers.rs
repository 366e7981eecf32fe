//! The callers of a schedule: plain HTTP, and MCP clients of both eras. Some of them give up early.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::page::TOOL;
use crate::socket_faults::invariants::{CallOutcome, InvariantChecker};
use crate::{Era, McpClient, PlainHttp, TestBed, Transport};

/// The timeout of a caller. It is longer than any call may take: the timeout of the call, the grace
/// period, and the delays of a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The clients of one schedule.
pub(super) struct Callers {
    plain: PlainHttp,
    earlier: McpClient,
    modern: McpClient,
    /// The number of restarts of the bridge.
    restarts: watch::Receiver<u64>,
}

/// The kind of client that makes a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallerKind {
    Plain,
    Earlier,
    Modern,
}

impl Callers {
    pub(super) async fn connect(bed: &TestBed, restarts: watch::Receiver<u64>) -> Self {
        Self {
            plain: PlainHttp::new(bed),
            earlier: McpClient::connect(bed, Transport::Http, Era::Initialize).await,
            modern: McpClient::connect(bed, Transport::Http, Era::Discover).await,
            restarts,
        }
    }

    /// Makes a call and records its outcome.
    pub(super) async fn call(
        &self,
        checker: &InvariantChecker,
        number: u64,
        kind: CallerKind,
        session: &str,
        client_timeout: Option<Duration>,
    ) {
        checker.call_made(number);
        let call = async {
            match kind {
                CallerKind::Plain => {
                    let input = json!({ "n": number });
                    let result = self.plain.call_in_session(session, TOOL, input).await;
                    result.map_or(CallOutcome::Lost, |result| outcome_of(&result))
                }
                CallerKind::Earlier => self.earlier(number, session).await,
                CallerKind::Modern => attempt(&self.modern, number, session).await,
            }
        };
        let outcome = match timeout(client_timeout.unwrap_or(CALL_TIMEOUT), call).await {
            Ok(outcome) => outcome,
            Err(_) if client_timeout.is_some() => CallOutcome::Lost,
            Err(_) => {
                checker.record_violation(format!("call {number} ({kind:?}) does not end"));
                CallOutcome::Lost
            }
        };
        checker.call_ended(number, outcome);
    }

    /// Makes a call as a client of the earlier era. After a restart of the bridge, rmcp's client of
    /// that era keeps trying to resume a stream that is gone, so the calls in flight are given up
    /// when the bridge restarts.
    async fn earlier(&self, number: u64, session: &str) -> CallOutcome {
        let mut restarts = self.restarts.clone();
        restarts.mark_unchanged();
        tokio::select! {
            outcome = attempt(&self.earlier, number, session) => outcome,
            _ = restarts.changed() => CallOutcome::Lost,
        }
    }
}

async fn attempt(client: &McpClient, number: u64, session: &str) -> CallOutcome {
    let arguments = json!({ "n": number, "session_id": session });
    match client.try_call(TOOL, arguments).await {
        Ok(result) => outcome_of(&serde_json::to_value(result).expect("a result serializes")),
        Err(_) => CallOutcome::Lost,
    }
}

/// Returns the outcome in an MCP result, or in the JSON error of a rejection.
fn outcome_of(result: &Value) -> CallOutcome {
    let code = &result["_meta"]["mcp-web/error"]["code"];
    let code = code.as_str().or_else(|| result["code"].as_str());
    match code {
        Some(code) => CallOutcome::Failed(code.to_owned()),
        None if result["content"].is_array() && result["isError"] != true => CallOutcome::Answered,
        None => CallOutcome::Failed(result.to_string()),
    }
}
