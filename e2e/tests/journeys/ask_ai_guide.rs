//! docs/ask-ai.md, 'Add an "Ask AI" button', levels 1 and 2, with the code blocks of the guide: only
//! the ports, the key and the URL of the provider differ.

use e2e::{Browser, Format, MockProvider, Script, StaticSite, TestBed, Turn};
use serde_json::json;

use crate::code_block;

const GUIDE: &str = include_str!("../../../docs/ask-ai.md");

/// The page of the guide in a browser, and its bridge.
struct RunningGuide {
    browser: Browser,
    provider: MockProvider,
    bed: TestBed,
    _site: StaticSite,
}

impl RunningGuide {
    /// Runs the block with `command`, and opens the page of level 2 with `extra_blocks` in its
    /// script.
    async fn start(script: Script, command: &str, extra_blocks: &[&str]) -> Self {
        let (provider, bed) = start_bridge(script, command).await;
        Self::open(provider, bed, &page_with(extra_blocks)).await
    }

    async fn open(provider: MockProvider, bed: TestBed, page: &str) -> Self {
        let host = format!("localhost:{}", bed.address().port());
        let page = page.replace("localhost:3001", &host);
        let site = StaticSite::with_index(page).await;
        let browser = Browser::open().await;
        browser.goto(site.url()).await;
        Self {
            browser,
            provider,
            bed,
            _site: site,
        }
    }

    async fn press(&self, button: &str) {
        let press = format!("document.querySelector('{button}').click()");
        self.browser.eval(&press, json!(null)).await;
    }

    async fn wait_for_list(&self, items: &[&str]) {
        let texts = "[...document.querySelectorAll('#list li')].map((item) => item.textContent)";
        self.wait_for_text(
            &format!("JSON.stringify({texts})"),
            &json!(items).to_string(),
        )
        .await;
    }

    async fn wait_for_answer(&self, text: &str) {
        self.wait_for_text("document.querySelector('#answer').textContent", text)
            .await;
    }

    /// Waits until the expression has this value; a timeout reports the value that it has.
    async fn wait_for_text(&self, expression: &str, text: &str) {
        let otherwise = format!("Promise.reject({expression})");
        let condition = format!("{expression} === {} || {otherwise}", json!(text));
        self.browser.wait_for(&condition).await;
    }
}

/// Runs the block with `command`, with a mock provider.
async fn start_bridge(script: Script, command: &str) -> (MockProvider, TestBed) {
    let provider = MockProvider::start(script).await;
    let shell = code_block(GUIDE, "sh", command)
        .replace(
            "YOUR-KEY # or OPENAI_API_KEY, or GEMINI_API_KEY",
            MockProvider::KEY,
        )
        .replace(
            "http://localhost:1234/v1",
            &provider.base_url(Format::OpenAi),
        );
    let url = provider.base_url(Format::Anthropic);
    let mock_variables = provider_variables(&url);
    let variables = if shell.contains("ANTHROPIC_API_KEY") {
        &mock_variables[..]
    } else {
        // Unlike a local server, the mock requires a key.
        &[("OPENAI_API_KEY", MockProvider::KEY)]
    };
    let bed = TestBed::from_shell(&shell, variables).await;
    (provider, bed)
}

/// Returns the page of level 2 with more blocks of the guide in its script.
fn page_with(extra_blocks: &[&str]) -> String {
    let extra_blocks = extra_blocks
        .iter()
        .map(|text| code_block(GUIDE, "js", text));
    let extra_blocks: String = extra_blocks.collect();
    let page = code_block(GUIDE, "html", "<form id=\"ask\">");
    page.replace("</script>", &format!("{extra_blocks}\n</script>"))
}

/// Variables that make the agent use the mock provider: with only a key, it uses the real one.
fn provider_variables(url: &str) -> [(&str, &str); 2] {
    [
        ("MCP_WEB_AGENT_PROVIDER", "anthropic"),
        ("MCP_WEB_AGENT_BASE_URL", url),
    ]
}

fn pancakes() -> Script {
    Script::new([
        Turn::from_text("Milk is missing.").call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("Now you have it all."),
    ])
}

#[tokio::test]
async fn from_an_empty_file_to_an_ask_box() {
    let script = Script::new([
        Turn::from_text("**Milk** is missing.").call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("Now you have it all."),
    ]);
    let (provider, bed) = start_bridge(script, "ANTHROPIC_API_KEY").await;
    let page = code_block(GUIDE, "html", "<mcp-web-ask suggestions");
    let guide = RunningGuide::open(provider, bed, page).await;
    let ask_box = "document.querySelector('mcp-web-ask').shadowRoot";
    guide
        .browser
        .press_button("What is missing for pancakes? Add it to the list.")
        .await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    let answer = format!("{ask_box}.querySelector('.turn[data-state=complete] .answer')");
    let answer = format!("{answer}?.innerText.replace(/\\s+/g, ' ')");
    let text = "Milk is missing. add_item , done Now you have it all.";
    guide.wait_for_text(&answer, text).await;
    let bold = format!("{ask_box}.querySelector('strong').textContent");
    guide.wait_for_text(&bold, "Milk").await;
    let request = guide.provider.wait_for_request(0).await.body.to_string();
    assert!(request.contains("Flour"), "the context is sent: {request}");
    assert_eq!(
        guide.browser.console().await,
        [""; 0],
        "the console is empty"
    );
}

#[tokio::test]
async fn one_tag_asks_without_a_script_of_the_page() {
    let (provider, bed) = start_bridge(Turn::from_text("Hello.").into(), "ANTHROPIC_API_KEY").await;
    let tag = code_block(GUIDE, "html", "<mcp-web-ask name=");
    let module = code_block(GUIDE, "html", "<mcp-web-ask suggestions")
        .lines()
        .find(|line| line.contains("/sdk/mcp-web-ask.js"));
    let page = format!(
        "<!doctype html><link rel=\"icon\" href=\"data:,\">{tag}{}",
        module.unwrap()
    );
    let guide = RunningGuide::open(provider, bed, &page).await;
    let ask = "document.querySelector('mcp-web-ask').ask?.('Hello')";
    guide.browser.wait_for(ask).await;
    let answer =
        "document.querySelector('mcp-web-ask').shadowRoot.querySelector('.text').innerText";
    guide.wait_for_text(answer, "Hello.").await;
    assert_eq!(
        guide.browser.console().await,
        [""; 0],
        "the console is empty"
    );
}

#[tokio::test]
async fn from_an_empty_file_to_an_answer() {
    let guide = RunningGuide::start(pancakes(), "ANTHROPIC_API_KEY", &["const { text } ="]).await;
    // The block that only waits for the result sends its query as soon as the page is loaded.
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide.provider.wait_until_idle().await;

    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
    let exchanges = guide.provider.exchanges();
    assert!(exchanges.iter().all(|it| it.format == Format::Anthropic));
    let log = guide.bed.log();
    assert!(!log.contains(MockProvider::KEY), "the key is not logged");
    assert_eq!(
        guide.browser.console().await,
        [""; 0],
        "the console is empty"
    );
}

#[tokio::test]
async fn with_a_local_model_server() {
    let guide = RunningGuide::start(pancakes(), "MCP_WEB_AGENT_BASE_URL", &[]).await;
    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
    let exchange = guide.provider.wait_for_request(0).await;
    assert_eq!(exchange.format, Format::OpenAi);
    assert_eq!(exchange.body["model"], "the-name-of-your-model");
}

#[tokio::test]
async fn without_a_model() {
    let guide = RunningGuide::start(Script::default(), "=commands", &[]).await;
    let prompt = GUIDE
        .split("Ask `/")
        .nth(1)
        .and_then(|rest| rest.split('`').next());
    let prompt = format!("/{}", prompt.unwrap());
    let write = format!(
        "document.querySelector('[name=prompt]').value = {}",
        json!(prompt)
    );
    guide.browser.eval(&write, json!(null)).await;
    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    assert!(guide.provider.exchanges().is_empty());
}

#[tokio::test]
async fn with_a_separate_agent() {
    let provider = MockProvider::start(pancakes()).await;
    let agent = code_block(GUIDE, "sh", "mcp-web agent").replace("YOUR-KEY", MockProvider::KEY);
    let url = provider.base_url(Format::Anthropic);
    let bridge = code_block(GUIDE, "sh", "--agent-url");
    let (bed, _) = TestBed::from_two_shells(bridge, &agent, &provider_variables(&url)).await;
    let guide = RunningGuide::open(provider, bed, &page_with(&[])).await;
    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
}

#[tokio::test]
async fn a_response_tool_and_a_reload_during_the_answer() {
    let sorted = ["Milk", "Flour"];
    let script = Script::new([Turn::from_text("Milk stands ")
        .pause_after(1)
        .text("in front.")
        .call("sort_list", json!({ "items": sorted }))]);
    let extra_blocks = ["const sortList =", "attachQuery"];
    let guide = RunningGuide::start(script, "ANTHROPIC_API_KEY", &extra_blocks).await;
    guide
        .browser
        .wait_for("document.querySelector('#sort')")
        .await;
    guide.press("#sort").await;
    guide.wait_for_answer("Milk stands ").await;

    guide.browser.reload().await;
    guide.wait_for_answer("Milk stands ").await;
    guide.provider.resume_one();
    guide.wait_for_list(&sorted).await;
    guide
        .wait_for_answer("Milk stands in front. [sort_list] ")
        .await;
}
