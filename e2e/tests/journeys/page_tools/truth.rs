//! The controls that a text of a page shows are those of the browser's own accessibility tree, with the
//! same names.

use bridge_protocol::invisible::is_invisible;
use serde_json::{Value, json};

use super::ToolsPage;

/// Roles of controls. The options of a list that is closed are part of its line.
const ROLES: [&str; 13] = [
    "button",
    "checkbox",
    "columnheader",
    "combobox",
    "link",
    "listbox",
    "menuitem",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "textbox",
];

/// How the names of the parts begin that Chromium makes of an input for dates: its value is set as a
/// whole.
const PARTS_OF_DATES: [&str; 8] = [
    "Show", "Month", "Day", "Year", "Hours", "Minutes", "AM/PM", "Week",
];

/// The frame of the libraries has a separate tree in Chromium.
const IN_FRAME: [&str; 3] = ["Frametext", "Framecheckbox", "Framesend"];

/// Chromium's own names for controls that have no role in ARIA.
const RENAMED: [(&str, &str); 7] = [
    ("Date", "textbox"),
    ("InputTime", "textbox"),
    ("DateTime", "textbox"),
    ("ColorWell", "textbox"),
    ("DisclosureTriangle", "button"),
    ("ComboBoxSelect", "combobox"),
    ("TextFieldWithComboBox", "combobox"),
];

#[tokio::test]
async fn controls_are_those_of_the_accessibility_tree() {
    let pages: Value =
        serde_json::from_str(include_str!("../../../page-tools/public-pages.json")).unwrap();
    for page in pages.as_array().unwrap() {
        let path = page["path"].as_str().unwrap();
        let tools = ToolsPage::open(path).await;
        if page["storage"] == json!({}) {
            let wait = json!([{ "type": "waitFor", "text": page["ready"] }]);
            tools.interact(wait).await;
        }
        let tree = tools
            .browser
            .devtools("Accessibility.getFullAXTree", json!({}));
        let (ours, theirs) = (shown(&tools.snapshot().await), accessible(&tree.await));
        assert!(ours.len() >= 3, "{path}: {ours:?}");
        assert_eq!(ours, theirs, "{path}");
    }
}

/// Returns role and name of the controls that a text shows.
fn shown(text: &str) -> Vec<(String, String)> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("- "));
    let controls = lines.filter_map(|line| {
        let role = line.split([' ', ':']).next()?;
        let rest = &line[role.len()..];
        let name = rest.strip_prefix(" \"").and_then(|rest| {
            let end = rest.find("\" [").or(rest.find("\":")).or(rest.rfind('"'))?;
            Some(&rest[..end])
        });
        Some((role.to_owned(), comparable(name.unwrap_or_default())))
    });
    let controls = controls.filter(|(role, name)| {
        ROLES.contains(&role.as_str()) && !IN_FRAME.contains(&name.as_str())
    });
    sorted(controls)
}

/// Returns role and name of the controls in the tree of Chromium.
fn accessible(tree: &Value) -> Vec<(String, String)> {
    let nodes = tree["nodes"].as_array().unwrap();
    let nodes = nodes.iter().filter(|node| node["ignored"] != true);
    let controls = nodes.filter_map(|node| {
        let role = node["role"]["value"].as_str()?;
        let role = RENAMED
            .iter()
            .find(|(theirs, _)| *theirs == role)
            .map_or(role, |it| it.1);
        let name = node["name"]["value"].as_str().unwrap_or_default();
        Some((role.to_owned(), comparable(name)))
    });
    let controls = controls.filter(|(role, name)| {
        let is_part = PARTS_OF_DATES.iter().any(|part| name.starts_with(part));
        ROLES.contains(&role.as_str()) && !is_part
    });
    sorted(controls)
}

/// Returns a name without spaces and invisible characters, which texts of pages do not have.
fn comparable(name: &str) -> String {
    let is_seen =
        |letter: &char| !letter.is_whitespace() && !is_invisible(*letter) && *letter != '\\';
    name.chars().filter(is_seen).collect()
}

fn sorted(controls: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut controls: Vec<_> = controls.collect();
    controls.sort();
    controls
}
