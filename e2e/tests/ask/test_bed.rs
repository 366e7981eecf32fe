//! The test bed for queries: a provider, a bridge, an agent, and the events that a page receives.

use std::collections::HashMap;

use bridge_protocol::{Query, QueryTool};
use e2e::{
    AgentEndpoint, AgentService, ChatServer, Format, MockProvider, PageTool, QueryPage, Scripts,
    TestBed,
};
use serde_json::{Value, json};

/// A bridge, its agent, and the provider of the agent's model.
pub(crate) struct QueryTestBed {
    pub(crate) provider: MockProvider,
    pub(crate) bridge: TestBed,
    pub(crate) agent: AgentService,
    pub(crate) endpoint: AgentEndpoint,
}

/// The key and the token that must not be in any log.
const SECRETS: [&str; 2] = [MockProvider::KEY, "what-a-bridge-shows-its-agent"];

impl QueryTestBed {
    pub(crate) async fn start(format: Format, scripts: impl Into<Scripts>) -> Self {
        Self::start_with(format, scripts, &[], &[]).await
    }

    /// Starts the test bed with more arguments for the agent and the bridge.
    pub(crate) async fn start_with(
        format: Format,
        scripts: impl Into<Scripts>,
        agent_arguments: &[&str],
        bridge_arguments: &[&str],
    ) -> Self {
        let provider = MockProvider::start(scripts.into()).await;
        Self::start_for(provider, format, agent_arguments, bridge_arguments).await
    }

    /// Starts the test bed with the chat completions of this server.
    pub(crate) async fn start_as(
        server: ChatServer,
        format: Format,
        scripts: impl Into<Scripts>,
        agent_arguments: &[&str],
    ) -> Self {
        let provider = MockProvider::start_as(server, scripts.into()).await;
        Self::start_for(provider, format, agent_arguments, &[]).await
    }

    async fn start_for(
        provider: MockProvider,
        format: Format,
        agent_arguments: &[&str],
        bridge_arguments: &[&str],
    ) -> Self {
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(bridge_arguments).await;
        let agent =
            AgentService::start(&endpoint, &bridge, &provider, format, agent_arguments).await;
        Self {
            provider,
            bridge,
            agent,
            endpoint,
        }
    }

    /// Opens a page with these tools.
    pub(crate) async fn page(&self, tools: Vec<PageTool>) -> QueryPage {
        QueryPage::open(&self.bridge, "board", tools).await
    }

    /// Waits until no query is in progress, and checks that no log contains a secret.
    pub(crate) async fn assert_idle_without_leaks(&self) {
        self.provider.wait_until_idle().await;
        self.agent.wait_until_idle().await;
        let logs = [self.agent.log(), self.bridge.log()].join("\n");
        for secret in SECRETS {
            assert!(!logs.contains(secret), "{logs}");
        }
    }
}

/// Creates a query with only a prompt.
pub(crate) fn query(uuid: &str, prompt: &str) -> Query {
    Query::new(uuid, prompt.to_owned())
}

/// Creates a tool in the list of a query.
pub(crate) fn query_tool(name: &str) -> QueryTool {
    QueryTool {
        name: name.to_owned(),
        description: None,
        input_schema: None,
        output_schema: None,
    }
}

/// The events of one query that a page has received.
#[derive(Debug, Default)]
pub(crate) struct QueryEvents(pub(crate) Vec<Value>);

impl QueryEvents {
    /// Sends a query and receives all of its events.
    pub(crate) async fn run(page: &QueryPage, query: Query) -> Self {
        let uuid = query.uuid.as_str().to_owned();
        page.send_query(query).await;
        Self::collect_rest(page, &uuid).await
    }

    /// Receives the remaining events.
    pub(crate) async fn collect_rest(page: &QueryPage, uuid: &str) -> Self {
        let mut events = Self::default();
        while !events.is_complete() {
            events.next_event(page, uuid).await;
        }
        events
    }

    /// Receives the next event, which must be of this query.
    pub(crate) async fn next_event(&mut self, page: &QueryPage, uuid: &str) -> &Value {
        let (_, message) = page.next_query_message().await;
        let mut event: Value = serde_json::from_str(&message.encode()).unwrap();
        assert_eq!(event["uuid"], uuid, "{event}");
        event.as_object_mut().unwrap().remove("uuid");
        self.0.push(event);
        self.0.last().unwrap()
    }

    /// Receives events until one of this kind arrives.
    pub(crate) async fn collect_until(&mut self, page: &QueryPage, uuid: &str, kind: &str) {
        loop {
            let event = self.next_event(page, uuid).await;
            if event["type"] == kind || event["content"]["type"] == kind {
                return;
            }
        }
    }

    fn is_complete(&self) -> bool {
        let last = self.0.last().and_then(|event| event["type"].as_str());
        matches!(
            last,
            Some("query_complete" | "query_failure" | "query_cancel")
        )
    }

    pub(crate) fn last(&self) -> &Value {
        self.0.last().unwrap()
    }

    /// Returns one line per event. Consecutive texts are joined, and the ends of parallel calls are
    /// sorted. Pieces of arguments and usage have no lines; the pieces must be the arguments that
    /// their calls have.
    pub(crate) fn summary(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut written: HashMap<&str, String> = HashMap::new();
        for event in &self.0 {
            let content = &event["content"];
            let id = content["id"].as_str().unwrap_or_default();
            match content["type"].as_str() {
                Some("tool-arguments") => {
                    let delta = content["delta"].as_str().unwrap();
                    written.entry(id).or_default().push_str(delta);
                    continue;
                }
                Some("usage") => continue,
                Some("tool-started") if content["arguments"] != json!({}) => {
                    let arguments: Value = serde_json::from_str(&written[id]).unwrap();
                    assert_eq!(arguments, content["arguments"], "{event}");
                }
                _ => {}
            }
            let line = event_summary(event);
            match (lines.last_mut(), line.strip_prefix("says ")) {
                (Some(last), Some(text)) if last.starts_with("says ") => last.push_str(text),
                _ => lines.push(line),
            }
        }
        for ends in lines.chunk_by_mut(|one, other| is_call_end(one) && is_call_end(other)) {
            ends.sort();
        }
        lines
    }

    /// Returns the texts of the notes.
    pub(crate) fn notes(&self) -> Vec<&str> {
        let contents = self.0.iter().map(|event| &event["content"]);
        let notes = contents.filter(|content| content["type"] == "note");
        notes.filter_map(|note| note["text"].as_str()).collect()
    }
}

fn is_call_end(line: &str) -> bool {
    line.starts_with("ended ") || line.starts_with("failed ")
}

fn event_summary(event: &Value) -> String {
    let content = &event["content"];
    let text = |field: &str| content[field].as_str().unwrap_or_default();
    match (event["type"].as_str().unwrap(), text("type")) {
        ("query_progress", "text") => format!("says {}", text("text")),
        ("query_progress", "thinking") => format!("thinks {}", text("text")),
        ("query_progress", "note") => format!("notes {}", text("text")),
        ("query_progress", "tool-started") => {
            format!(
                "calls {} {} {}",
                text("id"),
                text("tool"),
                content["arguments"]
            )
        }
        ("query_progress", "tool-finished") if content["isError"] == true => {
            format!("failed {} {}", text("id"), text("tool"))
        }
        ("query_progress", "tool-finished") => format!("ended {} {}", text("id"), text("tool")),
        ("query_accepted", _) => "accepted".to_owned(),
        ("query_complete", _) => format!("completes {}", event["result"]),
        ("query_failure", _) => format!("fails {}", event["code"].as_str().unwrap()),
        (other, _) => panic!("{other}: {event}"),
    }
}

/// Creates a tool that adds a card. Its calls return only when `parallel_calls` of them run at the
/// same time.
pub(crate) fn adding_tool(parallel_calls: usize) -> PageTool {
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(parallel_calls));
    let tool = PageTool::new("add_card", move |input| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(json!({ "added": input["title"] }))
        }
    });
    tool.input_schema(json!({
        "type": "object",
        "properties": { "title": { "type": "string" } },
        "required": ["title"],
        "additionalProperties": false,
    }))
}
