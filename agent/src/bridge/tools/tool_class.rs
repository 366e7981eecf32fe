//! What a call of a tool may do, by the annotations of the tool.

use rmcp::model::ToolAnnotations;

/// What a call of a tool may do. The hints are those of MCP, whose defaults are the most careful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToolClass {
    pub(crate) effect: ToolEffect,
    /// Whether the tool says that it reaches beyond the app (`openWorldHint`).
    pub(crate) is_open_world: bool,
}

/// What a call of a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Nothing (`readOnlyHint`).
    Read,
    /// It adds something (`destructiveHint` is false).
    Write,
    /// It may destroy something, or the tool says nothing about it.
    Destructive,
}

impl ToolClass {
    /// The class of a tool that says nothing about itself.
    pub(crate) const UNKNOWN: Self = Self {
        effect: ToolEffect::Destructive,
        is_open_world: false,
    };

    pub(super) fn from_annotations(annotations: Option<&ToolAnnotations>) -> Self {
        let Some(annotations) = annotations else {
            return Self::UNKNOWN;
        };
        let effect = if annotations.read_only_hint == Some(true) {
            ToolEffect::Read
        } else if annotations.destructive_hint == Some(false) {
            ToolEffect::Write
        } else {
            ToolEffect::Destructive
        };
        Self {
            effect,
            is_open_world: annotations.open_world_hint == Some(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_tool_that_says_nothing_may_destroy() {
        let class = |annotations: Value| {
            ToolClass::from_annotations(Some(&serde_json::from_value(annotations).unwrap()))
        };
        assert_eq!(ToolClass::from_annotations(None), ToolClass::UNKNOWN);
        assert_eq!(class(json!({})), ToolClass::UNKNOWN);
        let read = class(json!({ "readOnlyHint": true, "destructiveHint": true }));
        assert_eq!(read.effect, ToolEffect::Read);
        let write = class(json!({ "destructiveHint": false, "openWorldHint": true }));
        assert_eq!(
            (write.effect, write.is_open_world),
            (ToolEffect::Write, true)
        );
    }
}
