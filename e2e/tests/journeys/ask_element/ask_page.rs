//! A page with the element in a browser, its bridge, and an agent with a mock provider.

use e2e::{
    AgentEndpoint, AgentService, Browser, Format, MockProvider, Scripts, StaticSite, TestBed,
};
use serde_json::{Value, json};

/// The page, with the bridge and the agent that answer it.
pub(super) struct AskPage {
    pub(super) browser: Browser,
    pub(super) provider: MockProvider,
    bridge: TestBed,
    _agent: AgentService,
    _site: StaticSite,
}

/// The tool and the context of the page.
const SCRIPT: &str = r##"
  import { McpWeb } from "BRIDGE/sdk/mcp-web.js";
  const mcpWeb = new McpWeb({ name: "shopping", description: "A shopping list" });
  const list = document.querySelector("#list");
  const items = () => [...list.children].map((item) => item.textContent);
  mcpWeb.addTool({
    name: "add_item",
    description: "Adds an item to the list",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler: ({ text }) => list.append(Object.assign(document.createElement("li"), { textContent: text })),
  });
  const element = document.querySelector("mcp-web-ask");
  element.suggestions = ["What is missing for pancakes?"];
  element.context = () => [{ name: "list", value: items() }];
"##;

impl AskPage {
    pub(super) async fn open(scripts: impl Into<Scripts>) -> Self {
        let provider = MockProvider::start(scripts.into()).await;
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(&[]).await;
        let agent = AgentService::start(&endpoint, &bridge, &provider, Format::OpenAi, &[]).await;
        let site = StaticSite::with_index(html(&bridge.url())).await;
        let browser = Browser::open().await;
        browser.goto(site.url()).await;
        let page = Self {
            browser,
            provider,
            bridge,
            _agent: agent,
            _site: site,
        };
        page.wait_for("box").await;
        page
    }

    /// Waits until an expression is truthy. In it, `box` is the shadow root of the element.
    pub(super) async fn wait_for(&self, expression: &str) {
        let root = "document.querySelector('mcp-web-ask').shadowRoot";
        let condition = format!("((box) => {expression})({root})");
        self.browser.wait_for(&condition).await;
    }

    /// Waits until the newest question has this state.
    pub(super) async fn wait_for_state(&self, state: &str) {
        let newest = "[...box.querySelectorAll('.turn')].at(-1)?.dataset.state";
        self.wait_for(&format!("{newest} === '{state}'")).await;
    }

    pub(super) async fn press_button(&self, name: &str) {
        self.browser.press_button(name).await;
    }

    /// Asks as a person who has focused the input.
    pub(super) async fn ask(&self, prompt: &str) {
        let focus = "document.querySelector('mcp-web-ask').focus()";
        self.browser.eval(focus, json!(null)).await;
        self.type_text(prompt).await;
        self.press_key("Enter").await;
    }

    /// Waits until the button with this name has the focus.
    pub(super) async fn wait_for_focus(&self, name: &str) {
        let focused = "box.activeElement?.textContent";
        // A rejected promise counts as not yet true, and its reason is shown if the time runs out.
        self.wait_for(&format!(
            "{focused} === '{name}' || Promise.reject(box.activeElement?.outerHTML)"
        ))
        .await;
    }

    /// Types text into the focused element.
    pub(super) async fn type_text(&self, text: &str) {
        let text = json!({ "text": text });
        self.browser.devtools("Input.insertText", text).await;
    }

    /// Presses a key of the keyboard.
    pub(super) async fn press_key(&self, key: &str) {
        self.press_key_with(key, 0).await;
    }

    /// Presses a key together with the shift key.
    pub(super) async fn press_shifted_key(&self, key: &str) {
        const SHIFT: u32 = 8;
        self.press_key_with(key, SHIFT).await;
    }

    async fn press_key_with(&self, key: &str, modifiers: u32) {
        let (code, text) = match key {
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            "Tab" => (9, None),
            _ => panic!("{key} has no code here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "modifiers": modifiers, "windowsVirtualKeyCode": code });
            if let Some(text) = text.filter(|_| kind == "keyDown") {
                event["text"] = json!(text);
            }
            self.browser.devtools("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Returns the roles and names of the elements that assistive technology gets.
    pub(super) async fn accessibility_tree(&self) -> Vec<(String, String)> {
        let tree = self
            .browser
            .devtools("Accessibility.getFullAXTree", json!({}))
            .await;
        let nodes = tree["nodes"].as_array().unwrap();
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let exposed = nodes.iter().filter(|node| node["ignored"] == false);
        exposed
            .map(|node| (text(&node["role"]), text(&node["name"])))
            .collect()
    }

    pub(super) async fn assert_no_errors(&self) {
        assert_eq!(
            self.browser.console().await,
            [""; 0],
            "the console is empty"
        );
        assert!(!self.bridge.log().contains(MockProvider::KEY));
    }
}

fn html(bridge: &str) -> String {
    let script = SCRIPT.replace("BRIDGE", bridge);
    format!(
        "<!doctype html><html lang=\"en\" style=\"color-scheme: light dark\">
         <meta name=\"viewport\" content=\"width=device-width\">
         <title>Shopping list</title><link rel=\"icon\" href=\"data:,\">
         <body style=\"font-family: sans-serif\"><ul id=\"list\"><li>Flour</li></ul>
         <mcp-web-ask></mcp-web-ask>
         <script type=\"module\" src=\"{bridge}/sdk/mcp-web-ask.js\"></script>
         <script type=\"module\">{script}</script>"
    )
}
