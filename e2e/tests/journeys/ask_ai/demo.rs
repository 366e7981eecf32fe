//! The demo in a browser, with a mock provider for its agent.

use e2e::{Browser, Format, MockProvider, Scripts, TestBed};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{PageToken, open_with_page_token};

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
        let provider = MockProvider::start(script.into()).await;
        let folder = TempDir::with_prefix("mcp-web-key-").unwrap();
        let key = folder.path().join("key");
        std::fs::write(&key, MockProvider::KEY).unwrap();
        let arguments = [
            &format!("--agent-provider={}", format.name()),
            "--agent-model=the-played-one",
            &format!("--agent-base-url={}", provider.base_url(format)),
            &format!("--agent-api-key-file={}", key.display()),
        ];
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

    pub(super) async fn press(&self, id: &str) {
        let ready = format!("document.getElementById('{id}').ariaDisabled !== 'true'");
        self.browser.wait_for(&ready).await;
        let press = format!("document.getElementById('{id}').click()");
        self.browser.eval(&press, json!(null)).await;
    }

    /// Waits until the slip has this state.
    pub(super) async fn wait_for_state(&self, state: &str) {
        let condition = format!("document.getElementById('ask-slip').dataset.state === '{state}'");
        self.browser.wait_for(&condition).await;
    }

    pub(super) async fn wait_for_text(&self, text: &str) {
        let text = json!(text);
        let condition = format!("document.getElementById('ask-slip').innerText.includes({text})");
        self.browser.wait_for(&condition).await;
    }

    /// Returns the titles of a column's cards, from top to bottom.
    pub(super) async fn cards(&self, column: &str) -> Value {
        let titles = format!(
            "return [...document.querySelectorAll('[data-column={column}] .card-title-text')]
               .map((title) => title.textContent)"
        );
        self.browser.eval(&titles, json!(null)).await
    }

    /// Returns the tools that the slip shows, each with its state.
    pub(super) async fn chips(&self) -> Value {
        let chips = "return [...document.querySelectorAll('#ask-slip .chip')]
            .map((chip) => `${chip.querySelector('code').textContent} ${chip.dataset.state}`)";
        self.browser.eval(chips, json!(null)).await
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
