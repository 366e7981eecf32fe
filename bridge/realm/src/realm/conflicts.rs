//! Tools of one name and different input schemas in two sessions: where the operator wants that,
//! the newer one is refused.

use bridge_protocol::{ErrorCode, Kind, RegistrationFailure, SessionId};

use super::Realm;
use crate::definition::Definition;
use crate::definition::tool::Tool;

impl Realm {
    /// Refuses the tools that contradict those of other sessions.
    pub(super) fn reject_conflicts(
        &self,
        id: &SessionId,
        definitions: Vec<Result<Definition, RegistrationFailure>>,
    ) -> Vec<Result<Definition, RegistrationFailure>> {
        if !self.limits.reject_conflicts {
            return definitions;
        }
        let checked = |(index, definition)| match definition {
            Ok(Definition::Tool(tool)) if self.has_conflict(id, &tool) => {
                Err(conflict_failure(index, &tool))
            }
            other => other,
        };
        definitions.into_iter().enumerate().map(checked).collect()
    }

    /// Those that are there agree with each other: the first one tells.
    fn has_conflict(&self, id: &SessionId, tool: &Tool) -> bool {
        let mut others = self.sessions.iter().filter(|(other, _)| *other != id);
        let known = others.find_map(|(_, session)| session.item(Kind::Tool, tool.name()));
        match known {
            Some(Definition::Tool(known)) => {
                known.raw() != tool.raw()
                    && known.registered_input_schema() != tool.registered_input_schema()
            }
            _ => false,
        }
    }
}

fn conflict_failure(index: usize, tool: &Tool) -> RegistrationFailure {
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
