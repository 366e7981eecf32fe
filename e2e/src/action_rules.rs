//! The rules of actions that hold for each user interface, one row each. It has a text field "Name", one
//! that is read-only, "Fixed", and the buttons "Save", "Off", which is disabled, and two buttons "Twin".
//!
//! Web pages (`e2e/tests/journeys/page_tools/rules.rs`) and windows of Slint
//! (`e2e/tests/native_window/refusals.rs`) keep all rules. Lowdefy without a browser
//! (`e2e/tests/journeys/lowdefy.rs`) and the driver of a native program
//! (`e2e/tests/journeys/native_page_tools.rs`) have exceptions: a list of names of rows, each with the
//! code that this user interface returns instead.

use serde_json::{Value, json};

/// Actions, and the code of each: null if it succeeds.
#[derive(Debug)]
pub struct ActionRule {
    /// The subject of the row.
    pub name: &'static str,
    /// The arguments of `interact`.
    pub arguments: Value,
    codes: Value,
}

impl ActionRule {
    /// Returns the rules.
    #[rustfmt::skip]
    pub fn all() -> Vec<Self> {
        let find = |name: &str| json!({ "name": name });
        let click = |name: &str| json!({ "type": "triggerEvent", "find": find(name), "event": "onClick" });
        let set = |name: &str| json!({ "type": "setValue", "find": find(name), "value": "Ada" });
        let rows = [
            ("in order", json!([set("Name"), click("Save")]), json!([null, null])),
            ("a failure stops the list", json!([click("Off"), click("Save")]), json!(["TargetDisabled"])),
            ("a failure after an action", json!([click("Save"), click("Off"), click("Save")]), json!([null, "TargetDisabled"])),
            ("disabled", json!([click("Off")]), json!(["TargetDisabled"])),
            ("read-only", json!([set("Fixed")]), json!(["TargetReadOnly"])),
            ("not editable", json!([set("Save")]), json!(["NotEditable"])),
            ("ambiguous", json!([click("Twin")]), json!(["TargetAmbiguous"])),
            ("not found", json!([click("Nothing")]), json!(["TargetNotFound"])),
            ("no such handle", json!([{ "type": "hover", "ref": "e99999" }]), json!(["TargetNotFound"])),
            ("event that is none", json!([{ "type": "triggerEvent", "find": find("Save"), "event": "on Click!" }]), json!(["EventUnknown"])),
            ("event by another writing", json!([{ "type": "triggerEvent", "find": find("Off"), "event": "click" }]), json!(["TargetDisabled"])),
            ("double click", json!([{ "type": "triggerEvent", "find": find("Save"), "event": "onDoubleClick" }]), json!([null])),
            ("method that is none", json!([{ "type": "callMethod", "find": find("Save"), "method": "remove" }]), json!(["MethodUnknown"])),
            ("key", json!([{ "type": "pressKey", "find": find("Name"), "key": "x" }]), json!([null])),
            ("key with a modifier in its name", json!([{ "type": "pressKey", "find": find("Name"), "key": "Control+a" }]), json!([null])),
            ("key that is none", json!([{ "type": "pressKey", "find": find("Name"), "key": "Foo" }]), json!(["ActionFailed"])),
            ("hover", json!([{ "type": "hover", "find": find("Save") }]), json!([null])),
            ("scroll", json!([{ "type": "scroll", "deltaY": 10 }]), json!([null])),
            ("drag", json!([{ "type": "drag", "find": find("Name"), "to": { "find": find("Save") } }]), json!([null])),
            ("state", json!([{ "type": "setState", "key": "a", "value": 1 }]), json!(["ActionUnsupported"])),
            ("global state", json!([{ "type": "setGlobal", "key": "a", "value": 1 }]), json!(["ActionUnsupported"])),
            ("wait in vain", json!([{ "type": "waitFor", "text": "Never there", "ms": 60 }]), json!(["ActionTimeout"])),
            ("wait until gone", json!([{ "type": "waitFor", "gone": "Never there", "ms": 60 }]), json!([null])),
            ("wait for a text", json!([{ "type": "waitFor", "text": "Save", "ms": 60 }]), json!([null])),
            ("wait", json!([{ "type": "waitFor", "ms": 30 }]), json!([null])),
        ];
        let mut rules: Vec<_> = rows.map(|(name, actions, codes)| Self {
            name,
            arguments: json!({ "actions": actions, "view": "none" }),
            codes,
        }).into();
        rules.push(Self {
            name: "a failure does not stop the list if the client asks for that",
            arguments: json!({ "actions": [click("Off"), click("Save")], "onError": "continue", "view": "none" }),
            codes: json!(["TargetDisabled", null]),
        });
        rules
    }

    /// Checks the answer to a call of `interact`. `exceptions` has the code of each rule whose actions
    /// this driver cannot do, and reports as such.
    pub fn check(&self, answer: &Value, exceptions: &[(&str, Option<&str>)]) {
        let log = answer["_meta"]["mcp-web/page"]["log"].as_array();
        let log = log.unwrap_or_else(|| panic!("{}: {answer}", self.name));
        let codes: Value = log.iter().map(|entry| entry["code"].clone()).collect();
        let exception = exceptions.iter().find(|(name, _)| *name == self.name);
        let expected = match exception {
            Some((_, code)) => json!([code]),
            None => self.codes.clone(),
        };
        assert_eq!(codes, expected, "{}: {answer}", self.name);
        let failed = expected
            .as_array()
            .is_some_and(|codes| codes.iter().any(|code| !code.is_null()));
        assert_eq!(answer["isError"] == true, failed, "{}: {answer}", self.name);
        let actions = self.arguments["actions"].as_array().map_or(0, Vec::len);
        let skipped = &answer["_meta"]["mcp-web/page"]["skipped"];
        assert_eq!(skipped, actions - log.len(), "{}: {answer}", self.name);
    }
}
