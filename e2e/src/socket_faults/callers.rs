//! Who calls: a script and AI clients of both eras, some of which lose their patience.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::oracle::{Ended, Oracle};
use super::page::TOOL;
use crate::{Era, Leg, McpClient, PlainHttp, World};

/// Longer than any call may take: the call's own time, the grace, and a busy machine.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

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
pub(super) enum Way {
    Plain,
    Earlier,
    Modern,
}

impl Callers {
    pub(super) async fn of(world: &World, restarts: watch::Receiver<u64>) -> Self {
        Self {
            plain: PlainHttp::new(world),
            earlier: McpClient::connect(world, Leg::Http, Era::Initialize).await,
            modern: McpClient::connect(world, Leg::Http, Era::Discover).await,
            restarts,
        }
    }

    /// Makes a call and tells the oracle how it ended.
    pub(super) async fn call(
        &self,
        oracle: &Oracle,
        number: u64,
        way: Way,
        session: &str,
        patience: Option<Duration>,
    ) {
        oracle.made(number);
        let call = async {
            match way {
                Way::Plain => {
                    let input = json!({ "n": number });
                    let result = self.plain.call_in(session, TOOL, input).await;
                    result.map_or(Ended::Lost, |result| ending(&result))
                }
                Way::Earlier => self.earlier(number, session).await,
                Way::Modern => attempt(&self.modern, number, session).await,
            }
        };
        let how = match timeout(patience.unwrap_or(ENDS_WITHIN), call).await {
            Ok(how) => how,
            Err(_) if patience.is_some() => Ended::Lost,
            Err(_) => {
                oracle.break_promise(format!("call {number} ({way:?}) has no ending"));
                Ended::Lost
            }
        };
        oracle.ended(number, how);
    }

    /// rmcp's client of the earlier era goes on trying to resume a stream of a bridge that is not
    /// there any more. Its owner sees the bridge end, and gives up what was under way.
    async fn earlier(&self, number: u64, session: &str) -> Ended {
        let mut restarts = self.restarts.clone();
        restarts.mark_unchanged();
        tokio::select! {
            how = attempt(&self.earlier, number, session) => how,
            _ = restarts.changed() => Ended::Lost,
        }
    }
}

async fn attempt(client: &McpClient, number: u64, session: &str) -> Ended {
    let arguments = json!({ "n": number, "session_id": session });
    match client.attempt(TOOL, arguments).await {
        Ok(result) => ending(&serde_json::to_value(result).expect("it is plain data")),
        Err(_) => Ended::Lost,
    }
}

/// What the MCP result says, or the JSON error of a refusal.
fn ending(result: &Value) -> Ended {
    let code = &result["_meta"]["mcp-web/error"];
    let code = code.as_str().or_else(|| result["code"].as_str());
    match code {
        Some(code) => Ended::Failed(code.to_owned()),
        None if result["content"].is_array() && result["isError"] != true => Ended::Answered,
        None => Ended::Failed(result.to_string()),
    }
}
