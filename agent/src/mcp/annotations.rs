//! The annotations of tools.

use rmcp::model::ToolAnnotations;

use crate::tools::ToolHints;

/// Returns what a tool says about its calls.
pub(super) fn hints(annotations: Option<&ToolAnnotations>) -> ToolHints {
    annotations.map_or_else(ToolHints::default, |it| ToolHints {
        read_only_hint: it.read_only_hint,
        destructive_hint: it.destructive_hint,
        idempotent_hint: it.idempotent_hint,
        open_world_hint: it.open_world_hint,
    })
}
