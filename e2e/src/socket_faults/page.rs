//! A program of the crate `mcp-web-sdk` on a real WebSocket, in its own runtime.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_web_sdk::{Call, CallError, Fault, Handle, McpWeb, Token, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use super::invariants::InvariantChecker;
use crate::delay::delay;
use crate::random::Random;

/// The tool that every program registers. Its argument `n` is the caller's number for the call.
pub(super) const TOOL: &str = "work";

/// Returns a new token.
pub(super) type TokenSource = Arc<dyn Fn() -> String + Send + Sync>;

#[derive(Deserialize, JsonSchema)]
struct Work {
    n: u64,
}

/// A process of a session. If it is dropped, it ends as in a crash.
pub(super) struct SocketPage {
    app: McpWeb,
    tool: Handle,
    runtime: Option<Runtime>,
}

impl SocketPage {
    pub(super) fn open(
        bridge: String,
        session: &str,
        tokens: TokenSource,
        checker: Arc<InvariantChecker>,
        random: Random,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("the system gives a thread");
        let token = Token::fetched(move || std::future::ready(Ok::<_, CallError>(tokens())));
        let app = McpWeb::builder("faults")
            .bridge(bridge)
            .token(token)
            .session_id(session)
            .build()
            .expect("the address and the session are valid");
        let random = Mutex::new(random);
        let program = app.clone();
        let tool = app.add_tool(Tool::new(TOOL), move |Work { n }, call: Call| {
            checker.call_started(n, call.hand_overs().into());
            let work = choose(&mut random.lock().expect("no handler panics"), &call);
            let program = program.clone();
            async move {
                match work {
                    Chosen::Nothing => std::future::pending().await,
                    Chosen::Result(span, bytes) => {
                        delay(span).await;
                        Ok("x".repeat(bytes))
                    }
                    Chosen::Block(span) => {
                        let is_announced = false;
                        program.inject_fault(Fault { span, is_announced });
                        Ok(String::new())
                    }
                }
            }
        });
        let connected = app.clone();
        runtime.spawn(async move { connected.connect().await });
        Self {
            app,
            tool,
            runtime: Some(runtime),
        }
    }

    pub(super) fn pause(&self, span: Duration, is_announced: bool) {
        self.app.inject_fault(Fault { span, is_announced });
    }

    /// Waits until the tool can be called, or the program has given up. Returns the code of the error
    /// then.
    pub(super) async fn wait_settled(&mut self) -> Option<String> {
        let registered = self.tool.registered().await;
        registered.err().map(|error| error.code().to_owned())
    }

    /// Leaves the session to its next process.
    pub(super) async fn close(mut self) {
        self.app.leave().await;
        self.end();
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for SocketPage {
    fn drop(&mut self) {
        self.end();
    }
}

/// The behaviour of a handler.
enum Chosen {
    Nothing,
    /// It returns this many bytes after this time.
    Result(Duration, usize),
    /// It keeps the program from doing anything for this time.
    Block(Duration),
}

fn choose(random: &mut Random, call: &Call) -> Chosen {
    if random.percent(80) {
        call.hand_over(Some(&json!({})));
    }
    let span = Duration::from_millis(random.span(3_000));
    match random.below(10) {
        0..2 => Chosen::Block(span),
        2 => Chosen::Nothing,
        _ if random.percent(3) => Chosen::Result(span, 600_000),
        _ => Chosen::Result(span, 10),
    }
}
