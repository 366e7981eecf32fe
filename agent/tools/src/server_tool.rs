//! The definition of a tool of an MCP server, which the server lists and the operator pins.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::invisible::{is_invisible, without_invisible};
use bridge_schema::{Validator, dialect};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::class::{ToolClass, ToolEffect};
use crate::source::SourceTool;

/// The maximum length of the name of a tool of an MCP server, in bytes: that of MCP.
const MAX_NAME_BYTES: usize = 128;

/// The definition of a tool of an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerTool {
    /// The name at the server.
    pub name: String,
    /// The description for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The hints of the tool about its calls.
    #[serde(default)]
    pub annotations: ToolHints,
}

/// The hints of a tool about its calls, as MCP defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolHints {
    /// Calls change nothing (`readOnlyHint`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Calls may destroy something (`destructiveHint`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calls may be repeated (`idempotentHint`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Calls reach beyond the server (`openWorldHint`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolHints {
    /// Returns the class of the tool.
    pub fn class(self) -> ToolClass {
        let effect = if self.read_only_hint == Some(true) {
            ToolEffect::Read
        } else if self.destructive_hint == Some(false) {
            ToolEffect::Write
        } else {
            ToolEffect::Destructive
        };
        ToolClass {
            effect,
            is_open_world: self.open_world_hint == Some(true),
        }
    }

    /// Returns whether a call may be made twice.
    pub(crate) fn is_repeatable(self) -> bool {
        self.read_only_hint == Some(true) || self.idempotent_hint == Some(true)
    }
}

impl ServerTool {
    /// Removes the invisible characters from what a model reads.
    pub(crate) fn without_invisible_characters(mut self) -> Self {
        self.description = self
            .description
            .map(|text| without_invisible(&text).into_owned());
        remove_invisible(&mut self.input_schema);
        self
    }

    /// Returns whether the name is one: it is not empty, not long, and a person sees all of it.
    pub(crate) fn has_valid_name(&self) -> bool {
        (1..=MAX_NAME_BYTES).contains(&self.name.len())
            && !self
                .name
                .chars()
                .any(|it| is_invisible(it) || matches!(it, '\n' | '\t'))
    }

    /// Returns the size of the definition as input of a model, in bytes.
    pub fn bytes(&self) -> usize {
        let description = self.description.as_ref().map_or(0, String::len);
        self.name.len() + description + self.input_schema.to_string().len()
    }

    /// Returns a hash of all that a model or the policy goes by, as hex digits.
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let digest = Sha256::digest(json);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Creates the tool of a source. The schema is untrusted: one that cannot be used is an error.
    pub fn to_source_tool(&self, timeout: Option<Duration>) -> Result<SourceTool, String> {
        let schema = dialect::to_2020_12(Some(&self.input_schema))?;
        Ok(SourceTool {
            name: self.name.clone(),
            description: self.description.clone(),
            arguments: Arc::new(Validator::new(schema)?),
            class: self.annotations.class(),
            timeout,
        })
    }
}

fn remove_invisible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = without_invisible(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_invisible),
        Value::Object(fields) => {
            if fields.keys().any(|name| name.contains(is_invisible)) {
                let old = std::mem::take(fields);
                fields.extend(
                    old.into_iter()
                        .map(|(name, value)| (without_invisible(&name).into_owned(), value)),
                );
            }
            fields.values_mut().for_each(remove_invisible);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> ServerTool {
        ServerTool {
            name: "read".to_owned(),
            description: Some("Reads".to_owned()),
            input_schema: json!({ "type": "object" }),
            annotations: ToolHints::default(),
        }
    }

    #[test]
    fn a_tool_without_hints_may_destroy_and_is_not_repeated() {
        let hints = |hints: Value| serde_json::from_value::<ToolHints>(hints).unwrap();
        assert_eq!(ToolHints::default().class(), ToolClass::UNKNOWN);
        assert!(!ToolHints::default().is_repeatable());
        let read = hints(json!({ "readOnlyHint": true, "destructiveHint": true }));
        assert_eq!(
            (read.class().effect, read.is_repeatable()),
            (ToolEffect::Read, true)
        );
        let write = hints(json!({ "destructiveHint": false, "openWorldHint": true })).class();
        assert_eq!(
            (write.effect, write.is_open_world),
            (ToolEffect::Write, true)
        );
        assert!(hints(json!({ "idempotentHint": true })).is_repeatable());
    }

    #[test]
    fn invisible_characters_are_removed() {
        let hidden = "a\u{200b}b\u{e0041}\u{202e}c\u{7}\u{fe01}\u{e0100}\u{3164}\u{2800}\n\td é";
        let definition = ServerTool {
            description: Some(hidden.to_owned()),
            input_schema: json!({ "properties": { "x\u{e0041}": { "description": hidden } } }),
            ..definition()
        }
        .without_invisible_characters();
        assert_eq!(definition.description.unwrap(), "abc\n\td é");
        assert_eq!(
            definition.input_schema["properties"]["x"]["description"],
            "abc\n\td é"
        );
    }

    #[test]
    fn a_name_has_only_characters_that_a_person_sees() {
        let with_name = |name: &str| ServerTool {
            name: name.to_owned(),
            ..definition()
        };
        for name in ["read", "read file", "résumé", &"x".repeat(MAX_NAME_BYTES)] {
            assert!(with_name(name).has_valid_name(), "{name}");
        }
        for name in [
            "",
            "a\nb",
            "\u{1b}[2J",
            "a\u{200b}",
            "a\u{2800}",
            "a\u{e0100}",
            "☀\u{fe0f}",
            &"x".repeat(MAX_NAME_BYTES + 1),
        ] {
            assert!(!with_name(name).has_valid_name(), "{name:?}");
        }
    }

    #[test]
    fn a_hash_depends_on_all_that_a_model_or_the_policy_goes_by() {
        let original = definition().hash();
        assert_eq!(original.len(), 64);
        let changed = [
            ServerTool {
                description: None,
                ..definition()
            },
            ServerTool {
                input_schema: json!({}),
                ..definition()
            },
            ServerTool {
                name: "write".to_owned(),
                ..definition()
            },
            ServerTool {
                annotations: ToolHints {
                    read_only_hint: Some(true),
                    ..ToolHints::default()
                },
                ..definition()
            },
        ];
        assert!(changed.iter().all(|it| it.hash() != original));
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_an_error() {
        let broken = ServerTool {
            input_schema: json!({ "type": 7 }),
            ..definition()
        };
        assert!(broken.to_source_tool(None).is_err());
        let tool = definition()
            .to_source_tool(Some(Duration::from_secs(1)))
            .unwrap();
        assert_eq!(tool.timeout, Some(Duration::from_secs(1)));
    }
}
