//! The demo in a browser, with a mock provider for its agent.

use e2e::{Browser, Format, MockProvider, Scripts, TestBed};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{PageToken, open_with_page_token};

/// The inside of the element `<mcp-web-ask>`.
const ASK_BOX: &str = "document.querySelector('mcp-web-ask').shadowRoot";
/// The newest question with its answer.
const NEWEST_TURN: &str =
    "[...document.querySelector('mcp-web-ask').shadowRoot.querySelectorAll('.turn')].at(-1)";

/// Records the bridge's messages about queries, from the first socket on.
const RECORD_QUERY_MESSAGES: &str = r#"
    const Native = WebSocket;
window.queryMessages = [];
    window.WebSocket = class extends Native {
      constructor(...options) {
        super(...options);
        this.addEventListener("message", ({ data }) => {
          const message = JSON.parse(data);
if (message.type.startsWith("query_")) queryMessages.push(message);
        });
      }
    };
"#;

/// The demo in a browser, with a mock provider for its agent.
pub(super) struct Demo {
    pub(super) browser: Browser,
    pub(super) provider: MockProvider,
    bed: TestBed,
    _key: TempDir,
}

impl Demo {
    pub(super) async fn open(format: Format, script: impl Into<Scripts>) -> Self {
        Self::open_with(format, script, &[]).await
    }

    /// Starts the demo with more arguments, and opens its page.
    pub(super) async fn open_with(
        format: Format,
        script: impl Into<Scripts>,
        more_arguments: &[&str],
    ) -> Self {
        let provider = MockProvider::start(script.into()).await;
        let folder = TempDir::with_prefix("mcp-web-key-").unwrap();
        let key = folder.path().join("key");
        std::fs::write(&key, MockProvider::KEY).unwrap();
        let arguments = [
            &format!("--agent-provider={}", format.provider()),
            &"--agent-model=the-played-one".to_owned(),
            &format!("--agent-base-url={}", provider.base_url(format)),
            &format!("--agent-api-key-file={}", key.display()),
        ];
        let api = format.openai_api().map(|api| ["--agent-openai-api", api]);
        let api = api.as_ref().map_or(&[][..], |api| &api[..]);
        let arguments = [&arguments.map(String::as_str), api, more_arguments].concat();
        let mut bed = TestBed::demo_with(&arguments).await;
        let browser = Browser::open().await;
        let source = json!({ "source": RECORD_QUERY_MESSAGES });
        let command = "Page.addScriptToEvaluateOnNewDocument";
        browser.devtools(command, source).await;
        let page = PageToken {
            connected: "mcpWeb.status.state === 'connected'",
            token: "mcpWeb.authToken",
        };
        let url = bed.url();
        open_with_page_token(&browser, &url, &mut bed, page).await;
        Self {
            browser,
            provider,
            bed,
            _key: folder,
        }
    }

    /// Presses a button of the page, its ask box or a dialog.
    pub(super) async fn press(&self, name: &str) {
        self.browser.press_button(name).await;
    }

    /// Writes a question and sends it, without waiting for its answer.
    pub(super) async fn ask(&self, prompt: &str) {
        let prompt = json!(prompt);
        let ask = format!("document.querySelector('mcp-web-ask').ask?.({prompt})");
        self.browser.wait_for(&ask).await;
    }

    /// Waits until the newest question has this state.
    pub(super) async fn wait_for_state(&self, state: &str) {
        wait_for_state(&self.browser, state).await;
    }

    /// Waits until the conversation contains the text.
    pub(super) async fn wait_for_text(&self, text: &str) {
        let text = json!(text);
        let condition =
            format!("{ASK_BOX}.querySelector('.conversation').innerText.includes({text})");
        self.browser.wait_for(&condition).await;
    }

    /// Returns the text of the conversation.
    pub(super) async fn conversation(&self) -> String {
        let text = format!("return {ASK_BOX}.querySelector('.conversation').innerText");
        let text = self.browser.eval(&text, json!(null)).await;
        text.as_str().unwrap().to_owned()
    }

    /// Returns the titles of a column's cards, from top to bottom.
    pub(super) async fn cards(&self, column: &str) -> Value {
        let titles = format!(
            "return [...document.querySelectorAll('[data-column={column}] .card-title-text')]
               .map((title) => title.textContent)"
        );
        self.browser.eval(&titles, json!(null)).await
    }

    /// Returns the tools that the newest answer shows, each with its state.
    pub(super) async fn calls(&self) -> Value {
        let calls = format!(
            "return [...{NEWEST_TURN}.querySelectorAll('.call')]
               .map((call) => `${{call.querySelector('code').textContent}} ${{call.dataset.state}}`)"
        );
        self.browser.eval(&calls, json!(null)).await
    }

    /// Returns the kinds of the messages about queries that this document received; of progress,
    /// the kind of its content.
    pub(super) async fn query_messages(&self) -> Vec<String> {
        let kinds = "return queryMessages.map(({ type, content }) => content?.type ?? type)";
        let kinds = self.browser.eval(kinds, json!(null)).await;
        serde_json::from_value(kinds).unwrap()
    }

    pub(super) async fn assert_no_errors(&self) {
        assert_eq!(
            self.browser.console().await,
            [""; 0],
            "the console is empty"
        );
        let log = self.bed.log();
        assert!(!log.contains(MockProvider::KEY), "keys are not logged");
        assert!(!log.contains(self.bed.token()), "tokens are not logged");
    }
}

/// Waits until the newest question has this state.
pub(crate) async fn wait_for_state(browser: &Browser, state: &str) {
    let condition = format!("{NEWEST_TURN}?.dataset.state === '{state}'");
    browser.wait_for(&condition).await;
}
