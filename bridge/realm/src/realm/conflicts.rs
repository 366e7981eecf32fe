//! Refuses tools that have the name of a tool in another session but a different input schema, if
//! the operator has enabled that.

use bridge_protocol::{ErrorCode, Kind, RegistrationFailure, SessionId};

use super::Realm;
use crate::definition::SharedDefinition;
use crate::definition::tool::SharedTool;

impl Realm {
    /// Replaces each tool that conflicts with a tool of another session by a failure.
    pub(super) fn reject_conflicts(
        &self,
        id: &SessionId,
        definitions: Vec<Result<SharedDefinition, RegistrationFailure>>,
    ) -> Vec<Result<SharedDefinition, RegistrationFailure>> {
        if !self.limits.reject_conflicts {
            return definitions;
        }
        let checked = |(index, definition)| match definition {
            Ok(SharedDefinition::Tool(tool)) if self.has_conflict(id, &tool) => {
                Err(conflict_failure(index, &tool))
            }
            other => other,
        };
        definitions.into_iter().enumerate().map(checked).collect()
    }

    /// Whether another session has a tool of this name with a different input schema. All other
    /// sessions agree with each other, so only the first one with such a tool is compared.
    fn has_conflict(&self, id: &SessionId, tool: &SharedTool) -> bool {
        let mut others = self.sessions.iter().filter(|(other, _)| *other != id);
        let known = others.find_map(|(_, session)| session.item(Kind::Tool, tool.name()));
        match known {
            Some(SharedDefinition::Tool(known)) => {
                known.raw() != tool.raw()
                    && known.registered_input_schema() != tool.registered_input_schema()
            }
            _ => false,
        }
    }
}

fn conflict_failure(index: usize, tool: &SharedTool) -> RegistrationFailure {
    let message = format!(
        "another session has registered `{}` with a different schema: close its page, or choose \
         another name",
        tool.name()
    );
    RegistrationFailure {
        index,
        name: Some(tool.name().to_owned()),
        code: ErrorCode::ToolSchemaConflict,
        message,
    }
}
