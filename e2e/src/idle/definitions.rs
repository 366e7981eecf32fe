//! What the pages register: tools as apps have them, 300 to 500 bytes each.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

/// Whether the pages of a crowd register the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionSets {
    /// A thousand tabs of one app.
    Identical,
    /// No two definitions are equal.
    Distinct,
}

impl DefinitionSets {
    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            DefinitionSets::Identical => "identical",
            DefinitionSets::Distinct => "distinct",
        }
    }
}

/// The words that an app's tools are about, so that descriptions differ in length.
const NOUNS: [&str; 10] = [
    "card",
    "column",
    "comment",
    "label",
    "attachment",
    "member",
    "checklist",
    "board",
    "due date",
    "notification",
];

/// The message that registers `tools` tools; `page` tells distinct sets apart.
pub(crate) fn registration_message(sets: DefinitionSets, page: usize, tools: usize) -> String {
    let mark = match sets {
        DefinitionSets::Identical => String::new(),
        DefinitionSets::Distinct => format!(" (workspace {page})"),
    };
    let items: Vec<Value> = (0..tools)
        .map(|n| json!({ "kind": "tool", "definition": tool(n, &mark) }))
        .collect();
    json!({ "type": "register", "registrationId": "r1", "items": items }).to_string()
}

fn tool(n: usize, mark: &str) -> Value {
    let thing = NOUNS[n % NOUNS.len()];
    let mut properties = json!({
        "id": { "type": "string", "description": format!("The id of the {thing}") },
        "title": { "type": "string", "minLength": 1, "maxLength": 200 },
    });
    let more = properties.as_object_mut().unwrap();
    if n.is_multiple_of(2) {
        more.insert(
            "position".into(),
            json!({ "type": "integer", "minimum": 0 }),
        );
    }
    if n.is_multiple_of(3) {
        more.insert(
            "labels".into(),
            json!({ "type": "array", "items": { "type": "string" } }),
        );
    }
    json!({
        "name": format!("update_{}_{n}", thing.replace(' ', "_")),
        "description": format!("Changes a {thing} of the board that the user looks at{mark}"),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["id"],
            "additionalProperties": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_as_long_as_those_of_apps() {
        for n in 0..100 {
            let length = tool(n, " (workspace 9999)").to_string().len();
            assert!((280..=500).contains(&length), "{length}");
        }
        let [a, b] = [1, 2].map(|page| registration_message(DefinitionSets::Distinct, page, 1));
        assert_ne!(a, b);
    }
}
