//! docs/ask-ai.md, 'Add an "Ask AI" button', as it stands there: only ports, the key and the address
//! of the provider differ.

use e2e::{Browser, Format, MockProvider, Script, StaticSite, TestBed, Turn};
use serde_json::json;

const GUIDE: &str = include_str!("../../../docs/ask-ai.md");

/// Where the guide's page is, and its bridge.
struct RunningGuide {
    browser: Browser,
    provider: MockProvider,
    bed: TestBed,
    _site: StaticSite,
}

impl RunningGuide {
    /// Starts what the block with `command` starts, and opens the page with `more` in its script.
    async fn start(script: Script, command: &str, more: &[&str]) -> Self {
        let provider = MockProvider::start(script).await;
        let shell = block("sh", command)
            .replace(
                "YOUR-KEY # or OPENAI_API_KEY, or GEMINI_API_KEY",
                MockProvider::KEY,
            )
            .replace(
                "http://localhost:1234/v1",
                &provider.base_url(Format::OpenAi),
            );
        let url = provider.base_url(Format::Anthropic);
        let played = provider_variables(&url);
        let variables = match shell.contains("ANTHROPIC_API_KEY") {
            true => &played[..],
            // The one that is played takes nobody without a key.
            false => &[("OPENAI_API_KEY", MockProvider::KEY)],
        };
        let world = TestBed::from_shell(&shell, variables).await;
        Self::open(provider, world, more).await
    }

    async fn open(provider: MockProvider, world: TestBed, more: &[&str]) -> Self {
        let here = format!("localhost:{}", world.address().port());
        let page = block("html", "<!doctype html>").replace("localhost:3001", &here);
        let more: String = more.iter().map(|text| block("js", text)).collect();
        let page = page.replace("</script>", &format!("{more}\n</script>"));
        let site = StaticSite::with_index(page).await;
        let browser = Browser::open().await;
        browser.goto(site.url()).await;
        Self {
            browser,
            provider,
            bed: world,
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

    /// Waits until the page has this text there, and says what it has if it never does.
    async fn wait_for_text(&self, place: &str, text: &str) {
        let otherwise = format!("Promise.reject({place})");
        let shown = format!("{place} === {} || {otherwise}", json!(text));
        self.browser.wait_for(&shown).await;
    }
}

/// What sends the agent to a provider that is played: with a key alone it asks the real one.
fn provider_variables(url: &str) -> [(&str, &str); 2] {
    [
        ("MCP_WEB_AGENT_PROVIDER", "anthropic"),
        ("MCP_WEB_AGENT_BASE_URL", url),
    ]
}

/// The block of code in `language` that contains `text`.
fn block(language: &str, text: &str) -> String {
    let fence = format!("\n```{language}\n");
    let blocks = GUIDE.split(&fence).skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("\n```").next());
    let found = blocks.find(|block| block.contains(text));
    found
        .unwrap_or_else(|| panic!("the guide has no {language} block with {text:?}"))
        .to_owned()
}

fn pancakes() -> Script {
    Script::new([
        Turn::from_text("Milk is missing.").call("add_item", json!({ "text": "Milk" })),
        Turn::from_text("Now you have it all."),
    ])
}

#[tokio::test]
async fn from_an_empty_file_to_an_answer() {
    let guide = RunningGuide::start(pancakes(), "ANTHROPIC_API_KEY", &["const { text } ="]).await;
    // The line that waits for the end alone asks as soon as the page is there.
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide.provider.wait_until_idle().await;

    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
    let asked = guide.provider.exchanges();
    assert!(asked.iter().all(|it| it.format == Format::Anthropic));
    let log = guide.bed.log();
    assert!(!log.contains(MockProvider::KEY), "the key is not logged");
    assert_eq!(
        guide.browser.console().await,
        [""; 0],
        "the console is quiet"
    );
}

#[tokio::test]
async fn with_a_server_of_ones_own() {
    let guide = RunningGuide::start(pancakes(), "MCP_WEB_AGENT_BASE_URL", &[]).await;
    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
    let asked = guide.provider.wait_for_request(0).await;
    assert_eq!(asked.format, Format::OpenAi);
    assert_eq!(asked.body["model"], "the-name-of-your-model");
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
async fn with_an_agent_of_its_own() {
    let provider = MockProvider::start(pancakes()).await;
    let agent = block("sh", "mcp-web-agent").replace("YOUR-KEY", MockProvider::KEY);
    let url = provider.base_url(Format::Anthropic);
    let bridge = block("sh", "--agent-url");
    let world = TestBed::from_two_shells(&bridge, &agent, &provider_variables(&url)).await;
    let guide = RunningGuide::open(provider, world, &[]).await;
    guide.press("#ask button").await;
    guide.wait_for_list(&["Flour", "Milk"]).await;
    guide
        .wait_for_answer("Milk is missing. [add_item] Now you have it all.")
        .await;
}

#[tokio::test]
async fn an_answer_that_is_a_call_and_a_reload_in_the_middle() {
    let sorted = ["Milk", "Flour"];
    let script = Script::new([Turn::from_text("Milk stands ")
        .pause_after(1)
        .text("in front.")
        .call("sort_list", json!({ "items": sorted }))]);
    let more = ["const sortList =", "attachQuery"];
    let guide = RunningGuide::start(script, "ANTHROPIC_API_KEY", &more).await;
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
