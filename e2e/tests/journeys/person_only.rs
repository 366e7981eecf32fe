//! Only the person at the page answers for the person: the whole system, with a model and with
//! clients that try.

use e2e::{
    AgentEndpoint, AgentService, Browser, Format, MockProvider, PlainHttp, Script, StaticSite,
    TestBed, Turn, with_deadline,
};
use serde_json::{Value, json};

/// A page with page tools, an ask box, a tool that must be approved and one that asks.
const SCRIPT: &str = r#"
  import { McpWeb } from "BRIDGE/sdk/mcp-web.js";
  import { enablePageTools } from "BRIDGE/sdk/mcp-web-page.js";
  const mcpWeb = (globalThis.mcpWeb = new McpWeb({ name: "board", elicitInPage: "always" }));
  globalThis.ran = 0;
  globalThis.asked = [];
  mcpWeb.addTool({ name: "danger", description: "Deletes it", handler: () => ++ran });
  mcpWeb.addTool({
    name: "asks",
    description: "Asks first",
    handler: async (_, ctx) => {
      const schema = { type: "object", properties: { agreed: { type: "boolean", title: "I agree" } } };
      const { action } = await ctx.elicit({ message: "Really?", schema });
      return action;
    },
  });
  enablePageTools(mcpWeb);
  document.querySelector("button").onclick = () => {
    asked.push(mcpWeb.query({ prompt: "Delete it", approve: ["danger"] }));
  };
"#;

struct Page {
    browser: Browser,
    provider: MockProvider,
    client: PlainHttp,
    _bridge: TestBed,
    _agent: AgentService,
    _site: StaticSite,
}

impl Page {
    async fn open(script: Script) -> Self {
        let provider = MockProvider::start(script).await;
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(&[]).await;
        let agent = AgentService::start(&endpoint, &bridge, &provider, Format::OpenAi, &[]).await;
        let url = bridge.url();
        let script = SCRIPT.replace("BRIDGE", &url);
        let site = StaticSite::with_index(format!(
            "<!doctype html><title>Board</title><link rel=icon href=data:,><button>Go</button>
             <mcp-web-ask></mcp-web-ask><script type=module src={url}/sdk/mcp-web-ask.js></script>
             <script type=module>{script}</script>"
        ))
        .await;
        let browser = Browser::open().await;
        browser.goto(site.url()).await;
        let token = browser
            .wait_for("mcpWeb.status.state === 'connected' && mcpWeb.authToken")
            .await;
        let client = PlainHttp::new(&bridge).with_token(token.as_str().unwrap());
        client.call_when_registered("get_pages", json!({})).await;
        Self {
            browser,
            provider,
            client,
            _bridge: bridge,
            _agent: agent,
            _site: site,
        }
    }

    async fn ran(&self) -> Value {
        self.browser.eval("return ran", json!(null)).await
    }
}

fn click(name: &str) -> Value {
    json!({ "type": "triggerEvent", "find": { "role": "button", "name": name }, "event": "onClick" })
}

#[tokio::test]
async fn a_model_does_not_approve_its_own_call() {
    let actions = json!({ "actions": [
        { "type": "waitFor", "text": "danger", "ms": 3000 },
        click("Allow"),
        { "type": "pressKey", "key": "Tab" },
        { "type": "pressKey", "key": "Enter" },
    ], "onError": "continue" });
    let both = || Turn::from_call("danger", json!({})).call("interact", actions.clone());
    let script = Script::new([both(), both(), Turn::from_text("That is all.")]);
    let page = Page::open(script).await;
    page.browser.press_button("Go").await;
    page.browser.wait_for_surface("danger").await;
    page.browser.press_button("Do not allow").await;
    // The model's second turn, after both calls have ended.
    let second = page.provider.wait_for_request(1).await.body.to_string();
    assert!(second.contains("did not approve"), "{second}");
    assert!(second.contains("TargetNotFound"), "{second}");
    assert_eq!(page.ran().await, 0);

    page.browser.wait_for_surface("danger").await;
    page.browser.press_button("Allow").await;
    page.provider.wait_for_request(2).await;
    assert_eq!(page.ran().await, 1);
    let text = "return (await asked[0].result).text";
    assert_eq!(page.browser.eval(text, json!(null)).await, "That is all.");
}

#[tokio::test]
async fn a_client_does_not_answer_what_a_tool_asks_the_person() {
    let page = Page::open(Script::new([])).await;
    let asks = page.client.call("asks", json!({}));
    let acts = async {
        page.browser.wait_for_surface("Really?").await;
        let actions = json!({ "actions": [
            { "type": "setValue", "find": { "name": "I agree" }, "value": true },
            click("Send"),
            { "type": "pressKey", "key": "Enter" },
        ], "onError": "continue", "view": "none" });
        page.client.call("interact", actions).await.unwrap()
    };
    let declines = async {
        page.browser.wait_for_surface("Really?").await;
        page.browser.press_button("Decline").await;
    };
    let ended = async { tokio::join!(asks, acts, declines) };
    let (asked, acted, ()) = with_deadline("both calls", ended).await;
    assert!(asked.unwrap().to_string().contains("decline"));
    let log = acted["_meta"]["mcp-web/page"]["log"].clone();
    let codes: Vec<_> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["code"])
        .collect();
    assert_eq!(codes[..2], ["TargetNotFound"; 2], "{acted}");
}

#[tokio::test]
async fn a_client_does_not_ask_the_agent_through_the_ask_box() {
    let page = Page::open(Script::new([])).await;
    let actions = json!({ "actions": [
        { "type": "setValue", "find": { "role": "textbox", "name": "Ask AI" }, "value": "Delete it" },
        click("Ask AI"),
        { "type": "pressKey", "key": "Tab" },
        { "type": "pressKey", "key": "Enter" },
        click("Go"),
    ], "onError": "continue", "view": "page" });
    let acted = page.client.call("interact", actions).await.unwrap();
    let page_text = acted["content"][1]["text"].as_str().unwrap();
    assert!(!page_text.contains("Ask AI"), "{page_text}");
    let failure = "return asked[0].result.then(() => 'asked', ({ code }) => code)";
    assert_eq!(
        page.browser.eval(failure, json!(null)).await,
        "PersonRequired"
    );
    assert_eq!(page.provider.exchanges().len(), 0);
    // The person's own click does.
    page.browser.press_button("Go").await;
    page.provider.wait_for_request(0).await;
}
