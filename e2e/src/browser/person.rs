//! The person in front of a browser. What they do arrives as trusted events, also in closed shadow
//! roots, which scripts cannot look into.

use serde_json::{Value, json};

use super::Browser;
use crate::with_deadline;

/// The element that contains the dialog in which the SDK asks the person.
const SURFACE: &str = "document.querySelector('[data-mcp-web]')";

impl Browser {
    /// Clicks the button with this accessible name as soon as it exists and is enabled. A dialog that
    /// asks the person ignores clicks in its first moment, so its button is clicked until it is gone.
    pub async fn press_button(&self, name: &str) {
        let what = format!("the button {name:?}");
        with_deadline(&what, async {
            let node = self.wait_for_node("button", name).await;
            let asks = format!("return Boolean(window.pressedIn = {SURFACE})");
            let asks = self.eval(&asks, json!(null)).await == true;
            loop {
                let is_clicked = self.click_node(&node).await;
                if is_clicked && !asks {
                    return;
                }
                self.next_frame().await;
                let is_gone = "return window.pressedIn?.isConnected === false";
                if self.eval(is_gone, json!(null)).await == true {
                    return;
                }
            }
        })
        .await;
    }

    /// Writes a text into the field with this accessible name when it is there.
    pub async fn fill(&self, label: &str, text: &str) {
        let what = format!("the field {label:?}");
        with_deadline(&what, async {
            let node = self.wait_for_node("textbox", label).await;
            while !self.click_node(&node).await {
                self.next_frame().await;
            }
        })
        .await;
        let text = json!({ "text": text });
        self.devtools("Input.insertText", text).await;
    }

    /// Waits until the dialog that asks the person contains a text, and returns its whole text.
    pub async fn wait_for_surface(&self, part: &str) -> String {
        let what = format!("a dialog with {part:?}");
        with_deadline(&what, async {
            loop {
                let text = self.surface_text().await.unwrap_or_default();
                if text.contains(part) {
                    return text;
                }
                self.next_frame().await;
            }
        })
        .await
    }

    /// Returns the text of the dialog that asks the person.
    async fn surface_text(&self) -> Option<String> {
        let document = json!({ "depth": -1, "pierce": true });
        let document = self.devtools("DOM.getDocument", document).await;
        let host = find_node(&document["root"], &|node| {
            let attributes = node["attributes"].as_array();
            attributes.is_some_and(|it| it.iter().any(|one| one == "data-mcp-web"))
        })?;
        let mut text = String::new();
        add_text(&host["shadowRoots"], &mut text);
        Some(text)
    }

    async fn next_frame(&self) {
        let frame = "await new Promise((resolve) => requestAnimationFrame(resolve))";
        self.eval(frame, json!(null)).await;
    }

    /// Waits until there is an enabled element with a role and a name for assistive technology, and
    /// returns its node.
    async fn wait_for_node(&self, role: &str, name: &str) -> Value {
        loop {
            let tree = self
                .devtools("Accessibility.getFullAXTree", json!({}))
                .await;
            let mut nodes = tree["nodes"].as_array().into_iter().flatten();
            let found = nodes.find(|node| {
                node["ignored"] == false
                    && node["role"]["value"] == role
                    && node["name"]["value"] == name
                    && !is_disabled(node)
            });
            if let Some(node) = found {
                return node["backendDOMNodeId"].clone();
            }
            self.next_frame().await;
        }
    }

    /// Clicks the centre of a node. Returns whether it has a place.
    async fn click_node(&self, node: &Value) -> bool {
        let place = json!({ "backendNodeId": node });
        self.try_devtools("DOM.scrollIntoViewIfNeeded", place.clone())
            .await;
        let Some(model) = self.try_devtools("DOM.getBoxModel", place).await else {
            return false;
        };
        let corners: Vec<f64> = model["model"]["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        let [left, top, .., right, bottom, _, _] = corners[..] else {
            return false;
        };
        let (x, y) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
            self.devtools("Input.dispatchMouseEvent", event).await;
        }
        true
    }
}

fn is_disabled(node: &Value) -> bool {
    let properties = node["properties"].as_array().into_iter().flatten();
    let mut disabled = properties.filter(|property| property["name"] == "disabled");
    disabled.any(|property| property["value"]["value"] == true)
}

fn find_node<'a>(node: &'a Value, is_wanted: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    if is_wanted(node) {
        return Some(node);
    }
    let children = node["children"].as_array().into_iter().flatten();
    let mut found = children.map(|child| find_node(child, is_wanted));
    found.find_map(|it| it)
}

fn add_text(nodes: &Value, text: &mut String) {
    for node in nodes.as_array().into_iter().flatten() {
        if node["nodeType"] == 3 {
            text.push_str(node["nodeValue"].as_str().unwrap_or_default());
            text.push('\n');
        }
        add_text(&node["children"], text);
    }
}
