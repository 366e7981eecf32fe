//! The items that a session has registered.

use std::collections::BTreeMap;

use bridge_protocol::{ErrorCode, Item, Kind, RegistrationFailure};

use super::{Phase, Session};
use crate::definition::SharedDefinition;
use crate::definition::tool::published_name::may_be_repaired;
use crate::realm::RealmLimits;
use crate::realm::session::item_map::{ItemKey, SessionItem};

impl Session {
    /// Whether the current document has registered anything.
    pub(in crate::realm) fn has_registered(&self) -> bool {
        !self.items_are_former && !self.items.is_empty()
    }

    /// Removes the items of a former connection and returns their hashes; `None` when there are
    /// none. Their deadline ends.
    pub(in crate::realm) fn take_former_items(&mut self) -> Option<ListHashes> {
        if let Phase::Connected {
            former_items_until, ..
        } = &mut self.phase
        {
            *former_items_until = None;
        }
        if !std::mem::take(&mut self.items_are_former) {
            return None;
        }
        Some(self.take_items())
    }

    /// Removes all items and returns their hashes.
    pub(in crate::realm) fn take_items(&mut self) -> ListHashes {
        let former = self.list_hashes();
        self.items.clear();
        self.subscribed_uris.clear();
        former
    }

    /// The hashes of all definitions, by kind.
    pub(in crate::realm) fn list_hashes(&self) -> ListHashes {
        hash_lists(self.items.iter().map(|item| &item.definition))
    }

    /// The size of all definitions in bytes.
    pub fn definition_bytes(&self) -> usize {
        self.items.iter().map(|item| item.definition.bytes()).sum()
    }

    /// Registers an item, or replaces the one of the same kind and name at its position. Returns
    /// whether this changes what clients see. `total` is [`Session::definition_bytes`] and is
    /// updated, so that a batch computes it once.
    ///
    /// `max_definition_bytes` limits all definitions of the page here. `DefinitionRegistry::parse`
    /// enforces the same limit for one message, before it is parsed.
    pub(in crate::realm) fn register(
        &mut self,
        index: usize,
        definition: SharedDefinition,
        registration: u64,
        limits: &RealmLimits,
        total: &mut usize,
    ) -> Result<bool, RegistrationFailure> {
        let replaced = self.items.get(&ItemKey::new(&definition));
        let replaced = replaced.map(|old| &old.definition);
        let bytes = *total - replaced.map_or(0, SharedDefinition::bytes) + definition.bytes();
        let rejection = if replaced.is_none() && self.items.len() >= limits.definitions_per_session
        {
            Some(format!(
                "this page has {} definitions, which is the limit: remove some, or raise \
                 `max_definitions`",
                limits.definitions_per_session
            ))
        } else if bytes > limits.definition_bytes_per_session {
            Some(format!(
                "with this one the definitions of the page have {bytes} bytes, and {} is the \
                 limit: shorten them, or raise `max_definition_bytes`",
                limits.definition_bytes_per_session
            ))
        } else {
            None
        };
        if let Some(message) = rejection {
            return Err(RegistrationFailure {
                index,
                name: Some(definition.name().to_owned()),
                code: ErrorCode::DefinitionLimitExceeded,
                message,
            });
        }
        if let Some(other) = self.find_name_conflict(&definition) {
            let message = format!(
                "clients would know it as `{}`, like {:?}: choose another name",
                definition.published_name(),
                other.name()
            );
            return Err(RegistrationFailure {
                index,
                name: Some(definition.name().to_owned()),
                code: ErrorCode::DefinitionInvalid,
                message,
            });
        }
        let changed = replaced.is_none_or(|old| old.hash() != definition.hash());
        *total = bytes;
        self.items.insert(SessionItem {
            definition,
            registration,
        });
        Ok(changed)
    }

    /// Another definition that is published under the same name.
    fn find_name_conflict(&self, definition: &SharedDefinition) -> Option<&SharedDefinition> {
        let published = definition.published_name();
        if !may_be_repaired(published) {
            return None;
        }
        self.definitions(definition.kind())
            .find(|other| other.published_name() == published && other.name() != definition.name())
    }

    /// Replaces each definition for which `replacement` returns an equal one.
    pub(in crate::realm) fn replace_definitions(
        &mut self,
        replacement: &impl Fn(&SharedDefinition) -> Option<SharedDefinition>,
    ) {
        let replaced = self.items.iter().filter_map(|item| {
            Some(SessionItem {
                definition: replacement(&item.definition)?,
                registration: item.registration,
            })
        });
        for item in replaced.collect::<Vec<_>>() {
            self.items.insert(item);
        }
    }

    /// Removes an item and the subscriptions that only it served. Returns whether there was such an
    /// item.
    pub(in crate::realm) fn unregister(&mut self, item: &Item) -> bool {
        let named = ItemKey {
            kind: item.kind,
            name: &item.name,
        };
        let Some(removed) = self.items.remove(&named) else {
            return false;
        };
        let served = |uri: &String| removed.definition.serves(uri);
        let served: Vec<_> = self
            .subscribed_uris
            .iter()
            .filter(|uri| served(uri))
            .collect();
        let unserved: Vec<_> = served
            .into_iter()
            .filter(|uri| !self.serves(uri))
            .cloned()
            .collect();
        for uri in unserved {
            self.subscribed_uris.remove(&uri);
        }
        true
    }

    /// Whether the session has an item of the kind and name of the definition.
    pub(in crate::realm) fn has_item(&self, definition: &SharedDefinition) -> bool {
        self.items.get(&ItemKey::new(definition)).is_some()
    }

    /// Whether the page serves a URI, as a resource or through a template.
    pub(in crate::realm) fn serves(&self, uri: &str) -> bool {
        let kind = Kind::Resource;
        self.items.get(&ItemKey { kind, name: uri }).is_some()
            || self
                .definitions(Kind::ResourceTemplate)
                .any(|definition| definition.serves(uri))
    }

    /// The item that is registered or published under this name.
    pub(in crate::realm) fn item(&self, kind: Kind, name: &str) -> Option<&SharedDefinition> {
        self.items
            .get(&ItemKey { kind, name })
            .map(|item| &item.definition)
            .or_else(|| {
                // Only repaired names differ from the registered ones.
                may_be_repaired(name).then(|| {
                    self.definitions(kind)
                        .find(|definition| definition.published_name() == name)
                })?
            })
    }

    /// The definitions of one kind, in order of registration.
    pub(in crate::realm) fn definitions(
        &self,
        kind: Kind,
    ) -> impl Iterator<Item = &SharedDefinition> {
        self.items
            .iter()
            .map(|item| &item.definition)
            .filter(move |definition| definition.kind() == kind)
    }

    /// How this session serves a URI: as a resource, or through the first template that matches.
    pub(in crate::realm) fn resource_match(&self, uri: &str) -> Option<ResourceMatch> {
        if self.item(Kind::Resource, uri).is_some() {
            return Some(ResourceMatch::Exact);
        }
        self.definitions(Kind::ResourceTemplate)
            .find_map(|definition| match definition {
                SharedDefinition::Template(template) => {
                    let variables = template.matches(uri)?;
                    Some(ResourceMatch::Template(
                        template.item.name.clone(),
                        variables,
                    ))
                }
                _ => None,
            })
    }
}

/// The hashes of the definitions of each kind, in order of registration.
pub(in crate::realm) type ListHashes = BTreeMap<Kind, Vec<u64>>;

/// Groups the hashes of definitions by kind.
pub(in crate::realm) fn hash_lists<'a>(
    definitions: impl Iterator<Item = &'a SharedDefinition>,
) -> ListHashes {
    let mut lists = ListHashes::new();
    for definition in definitions {
        let list = lists.entry(definition.kind()).or_default();
        list.push(definition.hash());
    }
    lists
}

/// How a session serves a URI.
#[derive(Debug)]
pub enum ResourceMatch {
    /// As a resource with exactly this URI.
    Exact,
    /// Through this URI template, with the values of its variables.
    Template(String, BTreeMap<String, String>),
}
