//! The annotations of tools.

use rmcp::model::ToolAnnotations;

use crate::{ToolClass, ToolEffect, ToolHints};

/// Returns the hints of a tool about its calls.
pub fn hints(annotations: Option<&ToolAnnotations>) -> ToolHints {
    annotations.map_or_else(ToolHints::default, |it| ToolHints {
        read_only_hint: it.read_only_hint,
        destructive_hint: it.destructive_hint,
        idempotent_hint: it.idempotent_hint,
        open_world_hint: it.open_world_hint,
    })
}

/// Returns the annotations of a tool of this class. Whether calls may be repeated is not known.
pub(super) fn annotations(class: ToolClass) -> ToolAnnotations {
    let annotations = ToolAnnotations::new()
        .read_only(class.effect == ToolEffect::Read)
        .open_world(class.is_open_world);
    match class.effect {
        // The hint has a meaning only for what is not read-only.
        ToolEffect::Read => annotations,
        effect => annotations.destructive(effect == ToolEffect::Destructive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_reads_the_class_of_a_tool_from_its_annotations() {
        for effect in [ToolEffect::Read, ToolEffect::Write, ToolEffect::Destructive] {
            for is_open_world in [false, true] {
                let class = ToolClass {
                    effect,
                    is_open_world,
                };
                assert_eq!(hints(Some(&annotations(class))).class(), class);
            }
        }
    }
}
