//! What a test of a query needs: provider, bridge, agent, and the ear of a page.

use bridge_protocol::{Query, QueryTool};
use e2e::{
    AgentEndpoint, AgentService, Format, MockProvider, NativeItem, NativePage, Scripts, TestBed,
};
use serde_json::{Value, json};

/// A provider, an agent that asks it, and a bridge that asks the agent.
pub(crate) struct QueryTestBed {
    pub(crate) provider: MockProvider,
    pub(crate) world: TestBed,
    pub(crate) agent: AgentService,
    pub(crate) endpoint: AgentEndpoint,
}

/// The key and the tokens that nobody may ever read anywhere.
const SECRETS: [&str; 2] = [MockProvider::KEY, "what-a-bridge-shows-its-agent"];

impl QueryTestBed {
    pub(crate) async fn start(format: Format, scripts: impl Into<Scripts>) -> Self {
        Self::start_with(format, scripts, &[], &[]).await
    }

    /// With further arguments for the agent and the bridge.
    pub(crate) async fn start_with(
        format: Format,
        scripts: impl Into<Scripts>,
        of_agent: &[&str],
        of_bridge: &[&str],
    ) -> Self {
        let provider = MockProvider::start(scripts.into()).await;
        let place = AgentEndpoint::reserve();
        let arguments = place.bridge_arguments();
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend(of_bridge);
        let world = TestBed::bridge_with(&arguments).await;
        let agent = AgentService::start(&place, &world, &provider, format, of_agent).await;
        Self {
            provider,
            world,
            agent,
            endpoint: place,
        }
    }

    /// A page with these tools.
    pub(crate) async fn page(&self, tools: Vec<NativeItem>) -> NativePage {
        NativePage::open(&self.world, "board", tools).await
    }

    /// Waits until nothing runs for any query, and looks whether a secret was written anywhere.
    pub(crate) async fn assert_idle_without_leaks(&self) {
        self.provider.wait_until_idle().await;
        self.agent.wait_until_idle().await;
        let logs = [self.agent.log(), self.world.log()].join("\n");
        for secret in SECRETS {
            assert!(!logs.contains(secret), "{logs}");
        }
    }
}

/// A query with a prompt and nothing else.
pub(crate) fn query(uuid: &str, prompt: &str) -> Query {
    Query {
        uuid: uuid.into(),
        prompt: prompt.to_owned(),
        context: Vec::new(),
        response_tool: None,
        tools: None,
        restrict_tools: None,
        timeout: None,
    }
}

/// A tool, as a query names it.
pub(crate) fn query_tool(name: &str) -> QueryTool {
    QueryTool {
        name: name.to_owned(),
        description: None,
        input_schema: None,
        output_schema: None,
    }
}

/// What a page hears of one query, to its last word.
#[derive(Debug, Default)]
pub(crate) struct QueryEvents(pub(crate) Vec<Value>);

impl QueryEvents {
    /// Asks and hears everything.
    pub(crate) async fn run(page: &NativePage, query: Query) -> Self {
        let uuid = query.uuid.as_str().to_owned();
        page.send_query(query).await;
        Self::collect_rest(page, &uuid).await
    }

    /// Hears what is still to come.
    pub(crate) async fn collect_rest(page: &NativePage, uuid: &str) -> Self {
        let mut heard = Self::default();
        while !heard.is_complete() {
            heard.next(page, uuid).await;
        }
        heard
    }

    /// Hears the next event, which must be of this query.
    pub(crate) async fn next(&mut self, page: &NativePage, uuid: &str) -> &Value {
        let (_, message) = page.next_query_message().await;
        let mut event: Value = serde_json::from_str(&message.encode()).unwrap();
        assert_eq!(event["uuid"], uuid, "{event}");
        event.as_object_mut().unwrap().remove("uuid");
        self.0.push(event);
        self.0.last().unwrap()
    }

    /// Hears until something of this kind is told.
    pub(crate) async fn collect_until(&mut self, page: &NativePage, uuid: &str, kind: &str) {
        loop {
            let event = self.next(page, uuid).await;
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

    /// In one line: pieces of text put together, the ends of parallel calls in the order of their
    /// beginnings.
    pub(crate) fn summary(&self) -> Vec<String> {
        let mut story: Vec<String> = Vec::new();
        for event in &self.0 {
            let word = event_summary(event);
            match (story.last_mut(), word.strip_prefix("says ")) {
                (Some(last), Some(text)) if last.starts_with("says ") => last.push_str(text),
                _ => story.push(word),
            }
        }
        for run in story.chunk_by_mut(|one, other| is_call_end(one) && is_call_end(other)) {
            run.sort();
        }
        story
    }

    /// The notes.
    pub(crate) fn notes(&self) -> Vec<&str> {
        let contents = self.0.iter().map(|event| &event["content"]);
        let notes = contents.filter(|content| content["type"] == "note");
        notes.filter_map(|note| note["text"].as_str()).collect()
    }
}

fn is_call_end(word: &str) -> bool {
    word.starts_with("ended ") || word.starts_with("failed ")
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

/// A tool that takes a title, and says how many there are when two of its calls run at once.
pub(crate) fn adding_tool(side_by_side: usize) -> NativeItem {
    let meeting = std::sync::Arc::new(tokio::sync::Barrier::new(side_by_side));
    let definition = json!({
        "name": "add_card",
        "description": "Adds a card",
        "inputSchema": {
            "type": "object",
            "properties": { "title": { "type": "string" } },
            "required": ["title"],
            "additionalProperties": false,
        },
    });
    NativeItem::new(bridge_protocol::Kind::Tool, definition, move |call| {
        let meeting = meeting.clone();
        async move {
            meeting.wait().await;
            Ok(json!({ "added": call.input()["title"] }).into())
        }
    })
}
