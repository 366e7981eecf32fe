//! The tools that the pages register: realistic definitions of 300 to 500 bytes.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

/// Whether all pages register the same tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionSets {
    /// All definitions are the same, like those of many tabs of one app.
    Identical,
    /// No two definitions are the same.
    Distinct,
}

impl DefinitionSets {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            DefinitionSets::Identical => "identical",
            DefinitionSets::Distinct => "distinct",
        }
    }
}

/// The subjects of the tools; they differ in length, so the descriptions do, too.
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

/// Returns the message that registers `tools` tools; `page` makes distinct sets differ.
pub(crate) fn registration_message(sets: DefinitionSets, page: usize, tools: usize) -> String {
    let suffix = match sets {
        DefinitionSets::Identical => String::new(),
        DefinitionSets::Distinct => format!(" (workspace {page})"),
    };
    let items: Vec<Value> = (0..tools)
        .map(|n| json!({ "kind": "tool", "definition": tool(n, &suffix) }))
        .collect();
    json!({ "type": "register", "registrationId": "r1", "items": items }).to_string()
}

fn tool(n: usize, suffix: &str) -> Value {
    let noun = NOUNS[n % NOUNS.len()];
    let mut properties = json!({
        "id": { "type": "string", "description": format!("The id of the {noun}") },
        "title": { "type": "string", "minLength": 1, "maxLength": 200 },
    });
    let optional = properties.as_object_mut().unwrap();
    if n.is_multiple_of(2) {
        optional.insert(
            "position".into(),
            json!({ "type": "integer", "minimum": 0 }),
        );
    }
    if n.is_multiple_of(3) {
        optional.insert(
            "labels".into(),
            json!({ "type": "array", "items": { "type": "string" } }),
        );
    }
    json!({
        "name": format!("update_{}_{n}", noun.replace(' ', "_")),
        "description": format!("Changes a {noun} of the board that the user looks at{suffix}"),
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
    fn definitions_have_a_realistic_size() {
        for n in 0..100 {
            let length = tool(n, " (workspace 9999)").to_string().len();
            assert!((280..=500).contains(&length), "{length}");
        }
        let [a, b] = [1, 2].map(|page| registration_message(DefinitionSets::Distinct, page, 1));
        assert_ne!(a, b);
    }
}
