//! Pages register tools and take them back.

use std::sync::Arc;

use bridge_protocol::{
    BridgeToPage, Registered, RegisteredTool, RegistrationFailure, RegistrationId, SessionId,
    Unregistered,
};

use super::{ConnectionId, Effect, Effects, Realm};
use crate::tool::Tool;

impl Realm {
    /// A page registers tools. The first registration on a connection is its whole set.
    pub(crate) fn tools_registered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        tools: Vec<Result<Arc<Tool>, RegistrationFailure>>,
    ) -> Effects {
        let limits = self.limits;
        self.registrations += 1;
        let registration_number = self.registrations;
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        let former = session.take_former_tools();
        let mut tools_changed = false;
        let mut bytes = session.tool_bytes();
        let mut registered = Vec::new();
        let mut errors = Vec::new();
        for (index, tool) in tools.into_iter().enumerate() {
            let outcome = tool.and_then(|tool| {
                let names = RegisteredTool {
                    name: tool.name.clone(),
                    published_name: tool.published_name.clone(),
                };
                let changed =
                    session.register(index, tool, registration_number, &limits, &mut bytes)?;
                Ok((names, changed))
            });
            match outcome {
                Ok((names, changed)) => {
                    registered.push(names);
                    tools_changed |= changed;
                }
                Err(failure) => errors.push(failure),
            }
        }
        let message = BridgeToPage::Registered(Registered {
            registration_id: registration,
            tools: registered,
            errors,
        });
        let mut effects = Effects::from([Effect::Send {
            connection,
            message,
        }]);
        if former.map_or(tools_changed, |former| former != session.tool_hashes()) {
            effects.push(Effect::ToolsChanged);
        }
        effects
    }

    /// A page takes tools back. Calls in flight go on.
    pub(crate) fn tools_unregistered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        names: Vec<String>,
    ) -> Effects {
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        let names: Vec<_> = names
            .into_iter()
            .filter(|name| session.unregister(name))
            .collect();
        let changed = !names.is_empty();
        let message = BridgeToPage::Unregistered(Unregistered {
            registration_id: registration,
            names,
        });
        let mut effects = Effects::from([Effect::Send {
            connection,
            message,
        }]);
        if changed {
            effects.push(Effect::ToolsChanged);
        }
        effects
    }
}
