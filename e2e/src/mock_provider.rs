//! A mock of the providers of language models: it streams a [`Script`] in the formats of real ones.
//!
//! One server supports Anthropic's Messages, OpenAI's chat completions and Responses, and Gemini's
//! `streamGenerateContent` at once; the path selects the format. The history in a
//! request determines which turn of the script comes next, so hundreds of queries can run side by
//! side. A request that the provider would refuse, by the rules of `provider_rules` for its model,
//! gets that provider's error.
//!
//! `script` describes turns and faults, `formats` how each provider encodes them and writes its
//! errors. `server` is the HTTP server, `exchange_log` records its requests and when each response
//! ended, and `recording` records and replays conversations with real providers.
//!
//! Tests of single bytes and chunks are in the agent, with the `FakeProvider` of
//! `agent/src/model/hosted/tests/fake_provider.rs`.

mod exchange_log;
mod format;
mod formats;
mod recording;
mod script;
mod server;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::format::Format;
pub use self::script::{BreakMode, Fault, Script, Scripts, StopReason, TokenUsage, Turn, TurnPart};
use exchange_log::ExchangeLog;
pub use exchange_log::{Exchange, ExchangeOutcome};
pub use recording::{Recordings, Upstream};
pub use server::ResponseSource;
use server::{RequestPolicy, ServerState};

use crate::provider_rules::ChatServer;
use crate::with_deadline;

/// A running mock provider; it stops when this is dropped.
#[derive(Debug)]
pub struct MockProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    server: JoinHandle<()>,
}

impl MockProvider {
    /// The only key that it accepts.
    pub const KEY: &'static str = formats::KEY;

    /// Starts a provider on a free local port.
    pub async fn start(source: impl Into<ResponseSource>) -> Self {
        Self::start_as(ChatServer::OpenAi, source).await
    }

    /// Starts a provider whose chat completions are those of this server.
    pub async fn start_as(server: ChatServer, source: impl Into<ResponseSource>) -> Self {
        Self::start_with(RequestPolicy::ByRules(server), source).await
    }

    /// Starts a provider that refuses nothing, for clients that are not written here.
    pub async fn start_for_any_request(source: impl Into<ResponseSource>) -> Self {
        Self::start_with(RequestPolicy::All, source).await
    }

    async fn start_with(requests: RequestPolicy, source: impl Into<ResponseSource>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve_with(listener, requests, source)
    }

    /// Starts a provider on a listening socket.
    pub fn serve(listener: TcpListener, source: impl Into<ResponseSource>) -> Self {
        Self::serve_with(listener, RequestPolicy::ByRules(ChatServer::OpenAi), source)
    }

    fn serve_with(
        listener: TcpListener,
        requests: RequestPolicy,
        source: impl Into<ResponseSource>,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState::new(source.into(), requests));
        let server = tokio::spawn(server::serve(listener, state.clone()));
        Self {
            address,
            state,
            server,
        }
    }

    /// Returns the URL of the server, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for a format as the provider's documentation gives it; clients append
    /// their paths to it.
    pub fn base_url(&self, format: Format) -> String {
        format!("{}{}", self.url(), format.base_path())
    }

    /// Returns all exchanges so far, in the order of arrival.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.log().all()
    }

    /// Returns the number of requests that are being answered.
    pub fn open_exchanges(&self) -> usize {
        self.log().count(|exchange| exchange.end.is_none())
    }

    /// Waits until the request with this number, counted from 0, has arrived.
    pub async fn wait_for_request(&self, number: usize) -> Exchange {
        self.wait_for_exchange("to begin", number, |_| true).await
    }

    /// Waits until the first byte of the response to this request is sent.
    pub async fn wait_for_first_byte(&self, number: usize) -> Exchange {
        let has_begun = |exchange: &Exchange| exchange.first_byte.is_some();
        self.wait_for_exchange("to have a first byte", number, has_begun)
            .await
    }

    /// Waits until this exchange has ended, with whatever outcome.
    pub async fn wait_for_end(&self, number: usize) -> Exchange {
        let has_ended = |exchange: &Exchange| exchange.end.is_some();
        self.wait_for_exchange("to end", number, has_ended).await
    }

    /// Waits until no request is being answered.
    pub async fn wait_until_idle(&self) {
        let mut changes = self.log().subscribe();
        with_deadline("the provider to be idle", async {
            while self.open_exchanges() > 0 {
                changes.changed().await.unwrap();
            }
        })
        .await;
    }

    /// Waits until this many responses are paused at a [`Turn::pause_after`].
    pub async fn wait_for_pauses(&self, responses: usize) {
        let mut changes = self.log().subscribe();
        with_deadline(format!("{responses} responses to pause"), async {
            while self.log().count(|exchange| exchange.is_paused) < responses {
                changes.changed().await.unwrap();
            }
        })
        .await;
    }

    /// Resumes one response that is paused at a [`Turn::pause_after`].
    pub fn resume_one(&self) {
        self.state.resume_one();
    }

    async fn wait_for_exchange(
        &self,
        what: &str,
        number: usize,
        condition: impl Fn(&Exchange) -> bool,
    ) -> Exchange {
        let mut changes = self.log().subscribe();
        with_deadline(
            format!("exchange {number} with the provider {what}"),
            async {
                loop {
                    if let Some(exchange) = self.log().get(number).filter(&condition) {
                        return exchange;
                    }
                    changes.changed().await.unwrap();
                }
            },
        )
        .await
    }

    fn log(&self) -> &Arc<ExchangeLog> {
        self.state.log()
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}
