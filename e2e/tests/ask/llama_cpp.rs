//! The real server of llama.cpp, with the APIs that it shares with the agent. What the model
//! answers is described in `e2e/llama-cpp/table_model.py`; [`trained_model`] asks SmolLM2 instead.

mod answers;
mod cancellation;
mod failures;
mod load;
mod local_model;
mod trained_model;

use e2e::{AgentEndpoint, AgentService, Format, LlamaCpp, PageTool, QueryPage, TestBed};

/// A bridge, its agent, and the server of the agent's model.
pub(crate) struct LlamaCppTestBed {
    server: LlamaCpp,
    bridge: TestBed,
    agent: AgentService,
}

/// The key that the agent sends: with Anthropic's API it needs one, even if the server does not.
const KEY: &str = "sk-the-key-of-the-agent-0123456789";

/// The text that the model answers without tools, or with `[[text]]` in the prompt.
const TEXT: &str = "Two cards are late.";

/// The text that the model answers to the results of tools.
const ANSWER: &str = "Done now.";

/// The arguments for the server, the agent and the bridge of a test.
#[derive(Clone, Copy, Default)]
struct Arguments<'a> {
    server: &'a [&'a str],
    agent: &'a [&'a str],
    bridge: &'a [&'a str],
}

impl LlamaCppTestBed {
    async fn start(format: Format) -> Self {
        Self::start_with(format, Arguments::default()).await
    }

    async fn start_with(format: Format, arguments: Arguments<'_>) -> Self {
        let server = LlamaCpp::start(arguments.server).await;
        let url = server.base_url(format);
        Self::start_at(server, &url, format, arguments).await
    }

    /// Starts the test bed of a running server, which the agent reaches at this URL.
    async fn start_at(
        server: LlamaCpp,
        url: &str,
        format: Format,
        arguments: Arguments<'_>,
    ) -> Self {
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(arguments.bridge).await;
        let agent = arguments.agent;
        let agent =
            AgentService::start_with_base_url(&endpoint, &bridge, format, url, KEY, agent).await;
        Self {
            server,
            bridge,
            agent,
        }
    }

    /// Opens a page with these tools.
    async fn page(&self, tools: Vec<PageTool>) -> QueryPage {
        QueryPage::open(&self.bridge, "board", tools).await
    }

    /// Waits until neither agent nor server work on a query, and checks that no log contains the
    /// key.
    async fn assert_idle_without_leaks(&self) {
        self.agent.wait_until_idle().await;
        self.server.wait_for_busy_slots(0).await;
        let logs = [self.agent.log(), self.bridge.log()].join("\n");
        assert!(!logs.contains(KEY), "{logs}");
    }
}
