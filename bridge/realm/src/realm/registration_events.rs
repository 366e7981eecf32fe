//! Pages register and unregister definitions.

use std::sync::Arc;

use bridge_protocol::{
    BridgeToPage, Item, Kind, Registered, RegisteredItem, RegistrationFailure, RegistrationId,
    SessionId, Unregistered,
};

use super::session::ListHashes;
use super::{ConnectionId, Effect, Effects, Now, Realm, Session};
use crate::definition::SharedDefinition;

const KINDS: [Kind; 4] = [
    Kind::Tool,
    Kind::Prompt,
    Kind::Resource,
    Kind::ResourceTemplate,
];

impl Realm {
    /// A page registers definitions. The first registration on a connection replaces all
    /// definitions of earlier connections.
    pub fn items_registered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        definitions: Vec<Result<SharedDefinition, RegistrationFailure>>,
        now: Now,
    ) -> Effects {
        if self.session_on(id, connection).is_none() {
            return Effects::new();
        }
        let limits = Arc::clone(&self.limits);
        let definitions = self.reject_conflicts(id, definitions);
        for definition in definitions.iter().flatten() {
            self.route_index.insert_registered(id, definition);
        }
        self.registration_count += 1;
        let registration_number = self.registration_count;
        let subscribed_uris: Vec<String> = self.subscribed_uris().into_iter().cloned().collect();
        let former = self.update_session(id, Session::take_former_items);
        let Some(session) = self.sessions.get_mut(id) else {
            return Effects::new();
        };
        let app = session.app();
        let was_empty = session.items.is_empty();
        let mut changed_kinds = Vec::new();
        let mut bytes = session.definition_bytes();
        let mut items = Vec::new();
        let mut errors = Vec::new();
        for (index, definition) in definitions.into_iter().enumerate() {
            let outcome = definition.and_then(|definition| {
                let item = RegisteredItem {
                    kind: definition.kind(),
                    name: definition.name().to_owned(),
                    published_name: definition.published_name().to_owned(),
                };
                let new = !session.has_item(&definition);
                let changed = session.register(
                    index,
                    definition.clone(),
                    registration_number,
                    &limits,
                    &mut bytes,
                )?;
                // A replaced definition of the same name serves the same URIs.
                if new {
                    let served = subscribed_uris.iter().filter(|uri| definition.serves(uri));
                    session.subscribed_uris.extend(served.cloned());
                }
                Ok((item, changed))
            });
            match outcome {
                Ok((item, changed)) => {
                    if changed {
                        changed_kinds.push(item.kind);
                    }
                    items.push(item);
                }
                Err(failure) => errors.push(failure),
            }
        }
        if was_empty {
            // Most pages register once, so spare capacity would be wasted.
            session.items.shrink_to_fit();
        }
        let subscriptions = session.subscriptions_update(connection);
        let catalogued = app.and_then(|app| self.remove_from_catalogue(&app));
        if let Some(former) = former.flatten().or(catalogued)
            && let Some(session) = self.sessions.get(id)
        {
            changed_kinds = diff_lists(&former, &session.list_hashes());
        }
        if limits.notify_every_change && items.iter().any(|item| item.kind == Kind::Tool) {
            changed_kinds.push(Kind::Tool);
        }
        let message = BridgeToPage::Registered(Registered {
            registration_id: registration,
            items,
            errors,
        });
        let send = Effect::Send {
            connection,
            message,
        };
        let mut effects = self.registration_effects(send, changed_kinds, subscriptions);
        effects.extend(self.resume_queries(id));
        effects.extend(self.send_awaited_calls(id, connection, now));
        effects
    }

    /// A page unregisters definitions. Calls in flight continue.
    pub fn items_unregistered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        items: Vec<Item>,
    ) -> Effects {
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        let items: Vec<_> = items
            .into_iter()
            .filter(|item| session.unregister(item))
            .collect();
        let subscriptions = session.subscriptions_update(connection);
        let changed_kinds: Vec<_> = items.iter().map(|item| item.kind).collect();
        let message = BridgeToPage::Unregistered(Unregistered {
            registration_id: registration,
            items,
        });
        let send = Effect::Send {
            connection,
            message,
        };
        self.registration_effects(send, changed_kinds, subscriptions)
    }

    /// The response to the page, followed by the notifications to others.
    fn registration_effects(
        &mut self,
        answer: Effect,
        kinds: Vec<Kind>,
        subscriptions: Option<Effect>,
    ) -> Effects {
        let mut effects = Effects::from([answer]);
        if kinds.contains(&Kind::Tool) {
            effects.extend(self.notify_builtin_resources_updated());
        }
        effects.extend(list_changed_effects(kinds));
        effects.extend(subscriptions);
        effects
    }
}

/// The kinds whose lists differ.
pub(super) fn diff_lists(former: &ListHashes, now: &ListHashes) -> Vec<Kind> {
    let differs = |kind: &Kind| former.get(kind) != now.get(kind);
    KINDS.into_iter().filter(differs).collect()
}

/// One effect for each list that has changed. MCP uses one notification for resources and
/// templates, `notifications/resources/list_changed`.
pub(super) fn list_changed_effects(kinds: Vec<Kind>) -> Effects {
    let changed = |kind: &Kind| {
        kinds.contains(kind) || (*kind == Kind::Resource && kinds.contains(&Kind::ResourceTemplate))
    };
    [Kind::Tool, Kind::Prompt, Kind::Resource]
        .into_iter()
        .filter(changed)
        .map(Effect::ListChanged)
        .collect()
}
