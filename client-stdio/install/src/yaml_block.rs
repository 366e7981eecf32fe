//! Blocks of YAML that a person adds to a file. Strings are those of JSON, which YAML contains.

use serde_json::{Map, Value};

/// Writes an object as a block with two spaces for each level.
pub(crate) fn render(members: &Map<String, Value>) -> String {
    let mut text = String::new();
    add_members(&mut text, members, 0);
    text
}

fn add_members(text: &mut String, members: &Map<String, Value>, level: usize) {
    for (key, value) in members {
        text.push_str(&"  ".repeat(level));
        text.push_str(key);
        match value.as_object().filter(|members| !members.is_empty()) {
            Some(members) => {
                text.push_str(":\n");
                add_members(text, members, level + 1);
            }
            None => text.push_str(&format!(": {value}\n")),
        }
    }
}
