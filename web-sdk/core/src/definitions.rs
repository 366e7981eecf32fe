//! The page's tools, prompts, resources and templates, and their registration at the bridge.
//!
//! The table contains the definitions of the app. `flush` sends the changes that the bridge does
//! not have yet.

use bridge_protocol::{ErrorCode, RegistrationId};

use super::effect::{DefinitionKey, Effects, Failure, Report};
use super::messages::{
    Definition, Item, Json, Limits, PageToBridge, RegisteredItem, RegistrationFailure, SizedJson,
};
use super::text::{decimal, size_error};

/// The size of `{"kind":"resource-template","definition":…},` around a definition, rounded up.
const ITEM_OVERHEAD_BYTES: usize = 48;

/// After this number of calls in succession that were answered in their first task, the calls of a
/// definition are acknowledged by their answers.
const PROMPT_ANSWERS: u8 = 3;

/// Whether the bridge has the current version of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncState {
    /// The definition was never sent to this bridge.
    NeverSent,
    /// The definition was sent on a former connection and must be sent again.
    SentBefore,
    /// The definition was sent on this connection.
    Sent,
}

#[derive(Debug)]
struct Entry<J> {
    key: DefinitionKey,
    item: Item,
    definition: SizedJson<J>,
    sync_state: SyncState,
    /// The number of its latest calls in succession that were answered in their first task, up to
    /// [`PROMPT_ANSWERS`]; `None` if calls may not be repeated.
    prompt_answers: Option<u8>,
}

/// A definition whose handler is to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalledDefinition {
    pub(super) key: DefinitionKey,
    /// Whether a repeated call does no harm.
    pub(super) repeatable: bool,
    /// Whether the answer is expected in the first task, so that it can be the receipt.
    pub(super) is_prompt: bool,
}

/// A removed definition that the bridge may still list.
#[derive(Debug)]
struct RemovedDefinition {
    item: Item,
    /// The key of the definition, while the app waits for its removal.
    awaited_key: Option<DefinitionKey>,
}

/// A registration or unregistration that the bridge has not answered.
#[derive(Debug)]
struct PendingRegistration {
    id: RegistrationId,
    /// The definitions that the message registers.
    registered_keys: Vec<DefinitionKey>,
    /// The definitions that the message unregisters.
    removals: Vec<RemovedDefinition>,
}

/// The definitions of a page, in the order in which they were added.
#[derive(Debug)]
pub(super) struct Definitions<J> {
    entries: Vec<Entry<J>>,
    /// Removals that have not been sent.
    removals: Vec<RemovedDefinition>,
    pending: Vec<PendingRegistration>,
    /// The number of the latest registration.
    registrations: u64,
}

impl<J: Json> Definitions<J> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            removals: Vec::new(),
            pending: Vec::new(),
            registrations: 0,
        }
    }

    pub(super) fn find(&self, item: &Item) -> Option<CalledDefinition> {
        let entry = self.entries.iter().find(|entry| entry.item == *item)?;
        Some(CalledDefinition {
            key: entry.key,
            repeatable: entry.prompt_answers.is_some(),
            is_prompt: entry.prompt_answers == Some(PROMPT_ANSWERS),
        })
    }

    /// A call of a definition was answered in its first task, or was not.
    pub(super) fn observed(&mut self, key: DefinitionKey, is_prompt: bool) {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key);
        if let Some(answers) = entry.and_then(|entry| entry.prompt_answers.as_mut()) {
            *answers = if is_prompt {
                PROMPT_ANSWERS.min(*answers + 1)
            } else {
                0
            };
        }
    }

    /// Adds a definition; it is `repeatable` if a repeated call does no harm. It replaces one of the
    /// same kind and name, takes its position, and the former one is reported as removed.
    pub(super) fn add(
        &mut self,
        key: DefinitionKey,
        item: Item,
        definition: SizedJson<J>,
        repeatable: bool,
        effects: &mut Effects<J>,
    ) {
        let existing = self.entries.iter_mut().find(|entry| entry.item == item);
        let entry = Entry {
            key,
            item,
            definition,
            sync_state: SyncState::NeverSent,
            prompt_answers: repeatable.then_some(0),
        };
        let Some(existing) = existing else {
            self.entries.push(entry);
            return;
        };
        let replaced = std::mem::replace(existing, entry);
        // The bridge may list the replaced definition, so a later removal of this name must be
        // sent.
        if replaced.sync_state != SyncState::NeverSent {
            existing.sync_state = SyncState::SentBefore;
        }
        effects.report(Report::Dropped(replaced.key));
        effects.report(Report::Removed(replaced.key));
    }

    /// Removes a definition, if it has not been removed or replaced yet.
    pub(super) fn remove(&mut self, key: DefinitionKey, connected: bool, effects: &mut Effects<J>) {
        let Some(index) = self.entries.iter().position(|entry| entry.key == key) else {
            effects.report(Report::Removed(key));
            return;
        };
        let entry = self.entries.remove(index);
        effects.report(Report::Dropped(key));
        let was_sent = entry.sync_state != SyncState::NeverSent;
        if was_sent {
            self.removals.push(RemovedDefinition {
                item: entry.item,
                awaited_key: connected.then_some(key),
            });
        }
        if !was_sent || !connected {
            effects.report(Report::Removed(key));
        }
    }

    /// Sends all changes to the bridge. A definition that is too large for a frame is rejected.
    pub(super) fn flush(&mut self, limits: &Limits, effects: &mut Effects<J>) {
        self.flush_removals(effects);
        let max_bytes = limits.max_payload_bytes();
        let (mut keys, mut items, mut total) = (Vec::new(), Vec::new(), 0);
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.sync_state == SyncState::Sent {
                continue;
            }
            entry.sync_state = SyncState::Sent;
            let (key, kind) = (entry.key, entry.item.kind);
            let json = entry.definition.json.clone();
            let bytes = entry.definition.bytes + ITEM_OVERHEAD_BYTES;
            if bytes > max_bytes {
                let failure = too_large(
                    &entry.item,
                    entry.definition.bytes,
                    max_bytes.saturating_sub(ITEM_OVERHEAD_BYTES),
                );
                effects.report(Report::Rejected {
                    definition: key,
                    failure,
                });
                continue;
            }
            if total + bytes > max_bytes {
                self.register(
                    std::mem::take(&mut keys),
                    std::mem::take(&mut items),
                    effects,
                );
                total = 0;
            }
            total += bytes;
            keys.push(key);
            items.push(Definition { kind, json });
        }
        if !keys.is_empty() {
            self.register(keys, items, effects);
        }
    }

    fn register(
        &mut self,
        keys: Vec<DefinitionKey>,
        items: Vec<Definition<J>>,
        effects: &mut Effects<J>,
    ) {
        let registration_id = self.begin_registration(keys, Vec::new());
        effects.send(PageToBridge::Register {
            registration_id,
            items,
        });
    }

    /// Sends the removals, except for items that were added again: their registration replaces the
    /// former definition.
    fn flush_removals(&mut self, effects: &mut Effects<J>) {
        let (mut removals, mut items) = (Vec::new(), Vec::new());
        for removal in std::mem::take(&mut self.removals) {
            if self.find(&removal.item).is_some() {
                report_removed(removal.awaited_key, effects);
            } else {
                items.push(removal.item.clone());
                removals.push(removal);
            }
        }
        if !removals.is_empty() {
            let registration_id = self.begin_registration(Vec::new(), removals);
            effects.send(PageToBridge::Unregister {
                registration_id,
                items,
            });
        }
    }

    fn begin_registration(
        &mut self,
        registered_keys: Vec<DefinitionKey>,
        removals: Vec<RemovedDefinition>,
    ) -> RegistrationId {
        self.registrations += 1;
        let id = RegistrationId(["r", &decimal(self.registrations)].concat());
        self.pending.push(PendingRegistration {
            id: id.clone(),
            registered_keys,
            removals,
        });
        id
    }

    /// The bridge answered a registration or an unregistration.
    pub(super) fn answered(
        &mut self,
        id: &RegistrationId,
        registered: &[RegisteredItem],
        errors: Vec<RegistrationFailure>,
        effects: &mut Effects<J>,
    ) {
        let Some(index) = self.pending.iter().position(|pending| pending.id == *id) else {
            return;
        };
        let pending = self.pending.remove(index);
        for (index, key) in pending.registered_keys.iter().enumerate() {
            if !errors.iter().any(|error| error.index == index) {
                effects.report(Report::Registered {
                    definition: *key,
                    published_name: self.published_name(*key, registered),
                });
            }
        }
        for error in errors {
            if let Some(definition) = pending.registered_keys.get(error.index) {
                effects.report(Report::Rejected {
                    definition: *definition,
                    failure: Failure::new(error.code, error.message),
                });
            }
        }
        for removal in pending.removals {
            report_removed(removal.awaited_key, effects);
        }
    }

    fn published_name(&self, key: DefinitionKey, registered: &[RegisteredItem]) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        let registered = registered.iter().find(|other| other.item == entry.item)?;
        Some(registered.published_name.clone())
    }

    /// The connection is lost, and with it every pending answer. Definitions are sent again on the
    /// next connection, and until then no client can use a removed one.
    pub(super) fn connection_lost(&mut self, effects: &mut Effects<J>) {
        for entry in &mut self.entries {
            if entry.sync_state == SyncState::Sent {
                entry.sync_state = SyncState::SentBefore;
            }
        }
        for pending in std::mem::take(&mut self.pending) {
            self.removals.extend(pending.removals);
        }
        for removal in &mut self.removals {
            report_removed(removal.awaited_key.take(), effects);
        }
    }

    /// The bridge was restarted and has no definitions of this page.
    pub(super) fn bridge_changed(&mut self) {
        self.removals.clear();
        for entry in &mut self.entries {
            entry.sync_state = SyncState::NeverSent;
        }
    }
}

fn report_removed<J>(awaited_key: Option<DefinitionKey>, effects: &mut Effects<J>) {
    if let Some(key) = awaited_key {
        effects.report(Report::Removed(key));
    }
}

fn too_large(item: &Item, bytes: usize, max_bytes: usize) -> Failure {
    let subject = [
        "the definition of ",
        item.kind.as_str(),
        " `",
        &item.name,
        "`",
    ]
    .concat();
    Failure::new(
        const { ErrorCode::DefinitionInvalid.as_str() },
        size_error(
            &subject,
            bytes,
            max_bytes,
            "shorten its schema or description",
        ),
    )
}
