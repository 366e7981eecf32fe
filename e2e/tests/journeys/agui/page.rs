//! A page with a client of AG-UI in Chromium, its bridge, and an agent with a mock provider.

use std::fs;
use std::path::Path;
use std::time::Duration;

use e2e::{
    AgentEndpoint, AgentService, Browser, FolderSite, Format, MockProvider, NodeProject,
    ProcessGroup, Scripts, TestBed, program_paths,
};
use serde_json::{Value, json};

use super::guide::{agent_arguments, copy_command};

/// How long a build may take, with other journeys beside it.
const BUILD_TIMEOUT: Duration = Duration::from_secs(180);

/// A client of AG-UI, and how its chat is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// The folder in `e2e/agui`.
    pub(super) name: &'static str,
    /// The selector of the button that sends the prompt.
    pub(super) send: &'static str,
    /// The selector of the button that stops the answer.
    pub(super) stop: &'static str,
}

/// The page of a client.
pub(super) struct AguiPage {
    pub(super) browser: Browser,
    pub(super) provider: MockProvider,
    client: Client,
    _agent: AgentService,
    _bed: TestBed,
    _site: FolderSite,
    _project: NodeProject,
}

impl AguiPage {
    /// Builds the page of a client, and opens it. The model of its agent plays the scripts.
    pub(super) async fn open(client: Client, scripts: Scripts) -> Self {
        let endpoint = AgentEndpoint::reserve();
        let bed = endpoint.start_bridge(&[]).await;
        let provider = MockProvider::start(scripts).await;
        let flags = agent_arguments();
        let agent = AgentService::start(&endpoint, &bed, &provider, Format::OpenAi, &flags).await;

        let project = project_of(client);
        for (file, default, url) in [
            ("notes.ts", "http://localhost:3001", bed.url()),
            ("main.ts", "http://localhost:3003", endpoint.url()),
            ("main.tsx", "http://localhost:3003", endpoint.url()),
        ] {
            replace(&project.path().join(file), default, &url);
        }
        build(&project).await;
        let site = FolderSite::start(project.path().join("dist")).await;
        let browser = Browser::open().await;
        browser.goto(&site.url()).await;
        let page = Self {
            browser,
            provider,
            client,
            _agent: agent,
            _bed: bed,
            _site: site,
            _project: project,
        };
        page.wait_until_ready().await;
        page
    }

    /// Loads the page again, which begins another thread.
    pub(super) async fn reload(&self) {
        self.browser.reload().await;
        self.wait_until_ready().await;
    }

    async fn wait_until_ready(&self) {
        let is_ready = "document.querySelector('[data-connected] textarea')";
        self.browser.wait_for(is_ready).await;
    }

    /// Adds a note without the agent.
    pub(super) async fn add_note(&self, text: &str) {
        let add = "const item = document.createElement('li');
            item.textContent = arguments[0];
            document.querySelector('#notes').append(item);";
        self.browser.eval(add, json!([text])).await;
    }

    /// Writes a prompt as a person does, and sends it.
    pub(super) async fn ask(&self, prompt: &str) {
        let write = "const field = document.querySelector('textarea');
            const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value');
            set.call(field, arguments[0]);
            field.dispatchEvent(new Event('input', { bubbles: true }));";
        self.browser.eval(write, json!([prompt])).await;
        self.press(self.client.send).await;
    }

    /// Presses the button that stops the answer.
    pub(super) async fn stop(&self) {
        self.press(self.client.stop).await;
    }

    /// Presses a button as soon as it exists and is enabled.
    pub(super) async fn press(&self, selector: &str) {
        let button = format!("document.querySelector({})", json!(selector));
        let is_enabled = format!("{button} && !{button}.disabled");
        self.browser.wait_for(&is_enabled).await;
        let press = format!("{button}.click()");
        self.browser.eval(&press, Value::Null).await;
    }

    /// Waits until the page shows this text. A timeout reports the text that it shows.
    pub(super) async fn wait_for_text(&self, text: &str) {
        let shown = "document.body.innerText";
        let condition = format!(
            "{shown}.includes({}) || Promise.reject({shown})",
            json!(text)
        );
        self.browser.wait_for(&condition).await;
    }

    pub(super) async fn wait_for_notes(&self, notes: &[&str]) {
        let shown = "JSON.stringify([...document.querySelectorAll('#notes li')].map((it) => it.textContent))";
        let condition = format!(
            "{shown} === {} || Promise.reject({shown})",
            json!(json!(notes).to_string())
        );
        self.browser.wait_for(&condition).await;
    }

    /// Waits until the tool of the client has painted the title.
    pub(super) async fn wait_for_title_colour(&self, colour: &str) {
        let shown = "document.querySelector('#title').style.color";
        let condition = format!("{shown} === {} || Promise.reject({shown})", json!(colour));
        self.browser.wait_for(&condition).await;
    }

    pub(super) async fn wait_for_model_requests(&self, count: usize) {
        self.provider.wait_for_end(count - 1).await;
    }

    /// Returns the body of the last request to the model.
    pub(super) fn last_model_request(&self) -> String {
        self.provider.exchanges().last().unwrap().body.to_string()
    }

    pub(super) async fn screenshot(&self, name: &str) {
        let name = format!("agui-{}-{name}", self.client.name);
        self.browser.screenshot(&name).await;
    }
}

/// Follows the steps of the guide in an empty folder. The packages are those that xtask has installed
/// from the same lock file.
fn project_of(client: Client) -> NodeProject {
    let project = NodeProject::empty_with_agui_packages(client.name);
    let copy = copy_command()
        .replace("PATH", &program_paths::workspace().display().to_string())
        .replace("copilotkit", client.name);
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-ec", &copy]).current_dir(project.path());
    assert!(shell.status().unwrap().success(), "{copy}");
    project
}

fn replace(file: &Path, from: &str, to: &str) {
    if let Ok(text) = fs::read_to_string(file) {
        assert!(text.contains(from), "{}", file.display());
        fs::write(file, text.replace(from, to)).unwrap();
    }
}

/// Builds a page with Vite, without plugins.
pub(super) async fn build(project: &NodeProject) {
    let vite = program_paths::node_modules().join("vite/bin/vite.js");
    let command = project.node_command(&[&vite.display().to_string(), "build", "--logLevel=error"]);
    let mut build = ProcessGroup::start("vite build", command);
    assert!(build.wait_for_end(BUILD_TIMEOUT).await, "{}", build.log());
    assert!(
        project.path().join("dist/index.html").exists(),
        "{}",
        build.log()
    );
}
