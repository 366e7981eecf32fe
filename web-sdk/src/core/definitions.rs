//! The page's tools, prompts, resources and templates, and what the bridge has been told about them.
//!
//! The table is what the app wants; `flush` says what the bridge must hear so that it agrees.

use bridge_protocol::{ErrorCode, RegistrationId};

use super::effect::{DefinitionKey, Effects, Failure, Report};
use super::messages::{
    Definition, Item, PageToBridge, RegisteredItem, RegistrationFailure, SizedJson,
};
use super::text::decimal;

/// Room in a frame for everything but the definitions.
const ENVELOPE_BYTES: usize = 1024;

/// What surrounds one definition: `{"kind":"resource-template","definition":…},`.
const ITEM_OVERHEAD_BYTES: usize = 48;

/// Whether the bridge knows a definition as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncState {
    /// This bridge never heard of it.
    NeverSent,
    /// It was sent on an earlier connection, and goes again on the next.
    SentBefore,
    /// It was sent on this connection.
    Sent,
}

#[derive(Debug)]
struct Entry<V> {
    key: DefinitionKey,
    item: Item,
    definition: SizedJson<V>,
    sync_state: SyncState,
}

/// Something that the bridge may still list.
#[derive(Debug)]
struct RemovedDefinition {
    item: Item,
    /// The definition whose removal the app waits for.
    awaited_key: Option<DefinitionKey>,
}

/// A message that the bridge has not answered.
#[derive(Debug)]
struct PendingRegistration {
    id: RegistrationId,
    /// What it registers.
    registered_keys: Vec<DefinitionKey>,
    /// What it unregisters.
    removals: Vec<RemovedDefinition>,
}

/// All definitions in the order of adding.
#[derive(Debug)]
pub(super) struct Definitions<V> {
    entries: Vec<Entry<V>>,
    removals: Vec<RemovedDefinition>,
    pending: Vec<PendingRegistration>,
    registrations: u64,
}

impl<V: Clone> Definitions<V> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            removals: Vec::new(),
            pending: Vec::new(),
            registrations: 0,
        }
    }

    pub(super) fn find(&self, item: &Item) -> Option<DefinitionKey> {
        let entry = self.entries.iter().find(|entry| entry.item == *item)?;
        Some(entry.key)
    }

    /// Adds a definition. One of the same kind and name is replaced in its place, and gone as far as
    /// its own handle goes.
    pub(super) fn add(
        &mut self,
        key: DefinitionKey,
        item: Item,
        definition: SizedJson<V>,
        effects: &mut Effects<V>,
    ) {
        let twin = self.entries.iter_mut().find(|entry| entry.item == item);
        let entry = Entry {
            key,
            item,
            definition,
            sync_state: SyncState::NeverSent,
        };
        let Some(place) = twin else {
            self.entries.push(entry);
            return;
        };
        let replaced = std::mem::replace(place, entry);
        // The bridge may list the former definition: the name is not unknown to it.
        if replaced.sync_state != SyncState::NeverSent {
            place.sync_state = SyncState::SentBefore;
        }
        effects.report(Report::Dropped(replaced.key));
        effects.report(Report::Removed(replaced.key));
    }

    /// Removes a definition, if it is still there under this key.
    pub(super) fn remove(&mut self, key: DefinitionKey, connected: bool, effects: &mut Effects<V>) {
        let Some(place) = self.entries.iter().position(|entry| entry.key == key) else {
            effects.report(Report::Removed(key));
            return;
        };
        let entry = self.entries.remove(place);
        effects.report(Report::Dropped(key));
        let known = entry.sync_state != SyncState::NeverSent;
        if known {
            self.removals.push(RemovedDefinition {
                item: entry.item,
                awaited_key: connected.then_some(key),
            });
        }
        if !known || !connected {
            effects.report(Report::Removed(key));
        }
    }

    /// Sends what the bridge must hear now. Definitions that fit into no frame are refused here.
    pub(super) fn flush(&mut self, max_frame_bytes: usize, effects: &mut Effects<V>) {
        self.flush_removals(effects);
        let room = max_frame_bytes.saturating_sub(ENVELOPE_BYTES);
        let (mut keys, mut items, mut total) = (Vec::new(), Vec::new(), 0);
        for place in 0..self.entries.len() {
            let entry = &mut self.entries[place];
            if entry.sync_state == SyncState::Sent {
                continue;
            }
            entry.sync_state = SyncState::Sent;
            let (key, kind) = (entry.key, entry.item.kind);
            let json = entry.definition.json.clone();
            let bytes = entry.definition.bytes + ITEM_OVERHEAD_BYTES;
            if bytes > room {
                let failure = too_large(
                    &entry.item,
                    entry.definition.bytes,
                    room.saturating_sub(ITEM_OVERHEAD_BYTES),
                );
                effects.report(Report::Refused {
                    definition: key,
                    failure,
                });
                continue;
            }
            if total + bytes > room {
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
        items: Vec<Definition<V>>,
        effects: &mut Effects<V>,
    ) {
        let registration_id = self.begin_registration(keys, Vec::new());
        effects.send(PageToBridge::Register {
            registration_id,
            items,
        });
    }

    /// What was added again is not gone: registering it replaces the old definition.
    fn flush_removals(&mut self, effects: &mut Effects<V>) {
        let (mut gone, mut items) = (Vec::new(), Vec::new());
        for former in std::mem::take(&mut self.removals) {
            if self.find(&former.item).is_some() {
                report_removed(former.awaited_key, effects);
            } else {
                items.push(former.item.clone());
                gone.push(former);
            }
        }
        if !gone.is_empty() {
            let registration_id = self.begin_registration(Vec::new(), gone);
            effects.send(PageToBridge::Unregister {
                registration_id,
                items,
            });
        }
    }

    fn begin_registration(
        &mut self,
        registers: Vec<DefinitionKey>,
        gone: Vec<RemovedDefinition>,
    ) -> RegistrationId {
        self.registrations += 1;
        let id = RegistrationId(["r", &decimal(self.registrations)].concat());
        self.pending.push(PendingRegistration {
            id: id.clone(),
            registered_keys: registers,
            removals: gone,
        });
        id
    }

    /// The bridge answered a registration or an unregistration.
    pub(super) fn answered(
        &mut self,
        id: &RegistrationId,
        registered: &[RegisteredItem],
        errors: Vec<RegistrationFailure>,
        effects: &mut Effects<V>,
    ) {
        let Some(place) = self.pending.iter().position(|asked| asked.id == *id) else {
            return;
        };
        let asked = self.pending.remove(place);
        for (index, key) in asked.registered_keys.iter().enumerate() {
            if !errors.iter().any(|error| error.index == index) {
                effects.report(Report::Registered {
                    definition: *key,
                    published_name: self.published_name(*key, registered),
                });
            }
        }
        for error in errors {
            if let Some(definition) = asked.registered_keys.get(error.index) {
                effects.report(Report::Refused {
                    definition: *definition,
                    failure: Failure::new(error.code, error.message),
                });
            }
        }
        for gone in asked.removals {
            report_removed(gone.awaited_key, effects);
        }
    }

    fn published_name(&self, key: DefinitionKey, registered: &[RegisteredItem]) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        let registered = registered.iter().find(|found| found.item == entry.item)?;
        Some(registered.published_name.clone())
    }

    /// The connection is gone, and with it every answer under way. Definitions go again on the next,
    /// and no client can use a removed one until then.
    pub(super) fn connection_lost(&mut self, effects: &mut Effects<V>) {
        for entry in &mut self.entries {
            if entry.sync_state == SyncState::Sent {
                entry.sync_state = SyncState::SentBefore;
            }
        }
        for asked in std::mem::take(&mut self.pending) {
            self.removals.extend(asked.removals);
        }
        for gone in &mut self.removals {
            report_removed(gone.awaited_key.take(), effects);
        }
    }

    /// Another life of the bridge, which never heard of any definition.
    pub(super) fn bridge_changed(&mut self) {
        self.removals.clear();
        for entry in &mut self.entries {
            entry.sync_state = SyncState::NeverSent;
        }
    }
}

fn report_removed<V>(waiting: Option<DefinitionKey>, effects: &mut Effects<V>) {
    if let Some(key) = waiting {
        effects.report(Report::Removed(key));
    }
}

fn too_large(item: &Item, bytes: usize, limit: usize) -> Failure {
    let message = [
        "the definition of ",
        item.kind.as_str(),
        " `",
        &item.name,
        "` has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(limit as u64),
        " are allowed: shorten its schema or description",
    ];
    Failure::new(
        const { ErrorCode::DefinitionInvalid.as_str() },
        message.concat(),
    )
}
