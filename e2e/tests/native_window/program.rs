//! The program `native-window`, and what AI clients do with it.

use e2e::{
    Era, McpClient, ProcessGroup, TestBed, Transport, VirtualDisplay, program_paths, with_deadline,
};
use serde_json::{Value, json};
use tokio::process::Command;

/// The program with its windows, and a client.
pub(crate) struct Program {
    pub(crate) process: ProcessGroup,
    pub(crate) client: McpClient,
    pub(crate) bed: TestBed,
    _display: VirtualDisplay,
}

impl Program {
    pub(crate) async fn start() -> Self {
        Self::start_with(TestBed::bridge().await, &[]).await
    }

    /// Starts the program with a bridge and environment variables, and waits until its window has
    /// joined.
    pub(crate) async fn start_with(bed: TestBed, variables: &[(&str, &str)]) -> Self {
        let display = VirtualDisplay::start().await;
        let mut command = Command::new(program_paths::native_window());
        command
            .args([&bed.url(), bed.token()])
            .env("DISPLAY", display.name())
            .env_remove("WAYLAND_DISPLAY")
            // A display without a screen has no size in millimetres to compute it from.
            .env("WINIT_X11_SCALE_FACTOR", "1")
            .envs(variables.iter().copied());
        let mut process = ProcessGroup::start("native-window", command);
        process.wait_for_line("started").await;
        let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        let is_last = |tools: &[String]| tools.iter().any(|tool| tool == "page_screenshot");
        client.wait_for_tools("the window to join", is_last).await;
        Self {
            process,
            client,
            bed,
            _display: display,
        }
    }

    /// Calls a tool. The answer is whole: with the fields that only programs read.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.client.call(tool, arguments).await;
        let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
        serde_json::to_value(result).unwrap()
    }

    /// Runs actions, and returns the lines of the log.
    pub(crate) async fn log(&self, actions: Value) -> Vec<String> {
        self.log_of(json!({ "actions": actions, "view": "none" }))
            .await
    }

    /// Runs all actions, also after one that failed, and returns the lines of the log.
    pub(crate) async fn log_of_all(&self, actions: Value) -> Vec<String> {
        self.log_of(json!({ "actions": actions, "onError": "continue", "view": "none" }))
            .await
    }

    async fn log_of(&self, input: Value) -> Vec<String> {
        let answer = self.call("interact", input).await;
        text(&answer, 0).lines().map(str::to_owned).collect()
    }

    /// Runs one action that must succeed.
    pub(crate) async fn act(&self, action: Value) -> String {
        let log = self.log(json!([action])).await;
        assert!(log[0].contains(" ok"), "{log:?}");
        log[0].clone()
    }

    /// Returns the text of the window.
    pub(crate) async fn snapshot(&self) -> String {
        let answer = self.call("page_snapshot", json!({})).await;
        text(&answer, 0).to_owned()
    }

    /// Returns the handle of the only element with this role and name.
    pub(crate) async fn handle(&self, role: &str, name: &str) -> String {
        let snapshot = self.snapshot().await;
        let start = format!("- {role} \"{name}\" [ref=");
        let found = snapshot.split(&start).nth(1);
        let found = found.unwrap_or_else(|| panic!("no {start} in {snapshot}"));
        found.split(']').next().unwrap().to_owned()
    }

    /// Waits until the window shows a text.
    pub(crate) async fn wait_for(&self, text: &str) {
        self.act(json!({ "type": "waitFor", "text": text, "ms": 5000 }))
            .await;
    }

    /// Returns the names of the sessions that are open.
    pub(crate) async fn sessions(&self) -> Vec<String> {
        let answer = self.call("list_active_sessions", json!({})).await;
        let sessions = answer["structuredContent"]["sessions"].as_array();
        let sessions = sessions.unwrap_or_else(|| panic!("{answer}"));
        let names = sessions.iter().map(|it| it["session_name"].as_str());
        let mut names: Vec<_> = names.flatten().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// Waits until these sessions are open, and no others.
    pub(crate) async fn wait_for_sessions(&mut self, names: &[&str]) {
        with_deadline("the sessions to change", async {
            loop {
                let seen = self.client.changes();
                if self.sessions().await == names {
                    return;
                }
                self.client.wait_for_change(seen).await;
            }
        })
        .await;
    }
}

/// Returns a text of an answer.
pub(crate) fn text(answer: &Value, index: usize) -> &str {
    let text = answer["content"][index]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

pub(crate) fn trigger(reference: &str, event: &str) -> Value {
    json!({ "type": "triggerEvent", "ref": reference, "event": event })
}

pub(crate) fn click(name: &str) -> Value {
    let find = json!({ "role": "button", "name": name });
    json!({ "type": "triggerEvent", "find": find, "event": "onClick" })
}
