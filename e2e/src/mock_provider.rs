//! A provider of language models that says what a [`Script`] says, on the wires of the real ones.
//!
//! One server speaks Anthropic's Messages, OpenAI's chat completions and Responses, Gemini's
//! `streamGenerateContent` and Ollama's chat at once: the path says which. Which turn of the script
//! is next is read from the history in the request, so that hundreds of queries can be asked side by
//! side. A request that the provider would not take is refused in the provider's words.
//!
//! `script` is what is said and how it goes wrong, `formats` how each provider writes it and what it
//! demands of a request, `playing` the server, `records` what it was sent and when each exchange
//! ended, `tape` conversations with real providers, recorded and played again.

mod exchange_log;
mod formats;
mod recording;
mod script;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::formats::Format;
pub use self::script::{BreakMode, Fault, Script, Scripts, StopReason, TokenUsage, Turn, TurnPart};
use exchange_log::ExchangeLog;
pub use exchange_log::{Exchange, ExchangeOutcome};
pub use recording::{Recordings, Upstream};
pub use server::ResponseSource;
use server::ServerState;

use crate::with_deadline;

/// A running provider. It ends when this is dropped.
#[derive(Debug)]
pub struct MockProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    server: JoinHandle<()>,
}

impl MockProvider {
    /// The only key that it takes.
    pub const KEY: &'static str = "sk-of-the-mock-provider-0123456789abcdef";

    /// Starts one on a free port of this machine.
    pub async fn start(voice: impl Into<ResponseSource>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(listener, voice)
    }

    /// Starts one on a socket that listens already.
    pub fn serve(listener: TcpListener, voice: impl Into<ResponseSource>) -> Self {
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState::new(voice.into()));
        let server = tokio::spawn(server::serve(listener, state.clone()));
        Self {
            address,
            state,
            server,
        }
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of a provider, as its own documentation gives it: what clients append their
    /// paths to.
    pub fn base_url(&self, format: Format) -> String {
        format!("{}{}", self.url(), format.base_path())
    }

    /// Everything it was asked so far, in the order of arrival.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.records().all()
    }

    /// How many requests are being answered now.
    pub fn open(&self) -> usize {
        self.records().count(|exchange| exchange.end.is_none())
    }

    /// Waits until the request of this number, counted from 0, has arrived.
    pub async fn asked(&self, number: usize) -> Exchange {
        self.wait_for_exchange("to be asked", number, |_| true)
            .await
    }

    /// Waits until the first byte of the answer to this request is sent.
    pub async fn wait_for_first_byte(&self, number: usize) -> Exchange {
        let has_begun = |exchange: &Exchange| exchange.first_byte.is_some();
        self.wait_for_exchange("to answer", number, has_begun).await
    }

    /// Waits until this exchange has ended, however it did.
    pub async fn wait_for_end(&self, number: usize) -> Exchange {
        let has_ended = |exchange: &Exchange| exchange.end.is_some();
        self.wait_for_exchange("to end", number, has_ended).await
    }

    /// Waits until nothing is being answered.
    pub async fn wait_until_idle(&self) {
        let mut news = self.records().subscribe();
        with_deadline("the provider to have nothing to do", async {
            while self.open() > 0 {
                news.changed().await.unwrap();
            }
        })
        .await;
    }

    /// Waits until so many answers stand at [`Turn::wait_for_pauses`].
    pub async fn wait_for_pauses(&self, answers: usize) {
        let mut news = self.records().subscribe();
        with_deadline(format!("{answers} answers to pause"), async {
            while self.records().count(|exchange| exchange.is_paused) < answers {
                news.changed().await.unwrap();
            }
        })
        .await;
    }

    /// Lets one answer go on that stands at [`Turn::wait_for_pauses`].
    pub fn resume_one(&self) {
        self.state.go_on();
    }

    async fn wait_for_exchange(
        &self,
        what: &str,
        number: usize,
        is_so: impl Fn(&Exchange) -> bool,
    ) -> Exchange {
        let mut news = self.records().subscribe();
        with_deadline(
            format!("exchange {number} with the provider {what}"),
            async {
                loop {
                    if let Some(exchange) = self.records().get(number).filter(&is_so) {
                        return exchange;
                    }
                    news.changed().await.unwrap();
                }
            },
        )
        .await
    }

    fn records(&self) -> &Arc<ExchangeLog> {
        self.state.records()
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}
