//! The definitions of a session by kind and name.

use std::hash::{Hash, Hasher};

use bridge_protocol::Kind;
use indexmap::{Equivalent, IndexSet};

use crate::definition::SharedDefinition;

/// The number of items up to which a plain list is searched. A hash table would need more memory
/// than most of ten thousand pages need for their items, and would not be faster.
const MAX_LINEAR_ITEMS: usize = 16;

/// A definition of a session and the number of its registration. Two items are equal if their kind
/// and name are equal.
#[derive(Debug)]
pub(in crate::realm) struct SessionItem {
    pub(in crate::realm) definition: SharedDefinition,
    pub(in crate::realm) registration: u64,
}

/// The items of a session in order of registration, each identified by its kind and name.
#[derive(Debug)]
pub(in crate::realm) enum ItemMap {
    Linear(Vec<SessionItem>),
    Indexed(Box<IndexSet<SessionItem>>),
}

impl Default for ItemMap {
    fn default() -> Self {
        ItemMap::Linear(Vec::new())
    }
}

impl ItemMap {
    pub(in crate::realm) fn len(&self) -> usize {
        match self {
            ItemMap::Linear(items) => items.len(),
            ItemMap::Indexed(items) => items.len(),
        }
    }

    pub(in crate::realm) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::realm) fn iter(&self) -> impl Iterator<Item = &SessionItem> {
        let (few, many) = match self {
            ItemMap::Linear(items) => (Some(items), None),
            ItemMap::Indexed(items) => (None, Some(items)),
        };
        let many = many.into_iter().flat_map(|items| items.iter());
        few.into_iter().flatten().chain(many)
    }

    pub(super) fn get(&self, named: &ItemKey<'_>) -> Option<&SessionItem> {
        match self {
            ItemMap::Linear(items) => items.iter().find(|item| named.equivalent(*item)),
            ItemMap::Indexed(items) => items.get(named),
        }
    }

    /// Replaces the item of the same kind and name at its position, or adds the item at the end.
    pub(super) fn insert(&mut self, item: SessionItem) {
        match self {
            ItemMap::Linear(items) => {
                let key = ItemKey::new(&item.definition);
                let former = items.iter().position(|other| key.equivalent(other));
                match former {
                    Some(index) => items[index] = item,
                    None if items.len() < MAX_LINEAR_ITEMS => items.push(item),
                    None => {
                        let mut many: IndexSet<_> = std::mem::take(items).into_iter().collect();
                        many.insert(item);
                        *self = ItemMap::Indexed(Box::new(many));
                    }
                }
            }
            ItemMap::Indexed(items) => {
                items.replace(item);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &ItemKey<'_>) -> Option<SessionItem> {
        match self {
            ItemMap::Linear(items) => {
                let index = items.iter().position(|item| key.equivalent(item))?;
                Some(items.remove(index))
            }
            ItemMap::Indexed(items) => items.shift_take(key),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = ItemMap::default();
    }

    pub(in crate::realm) fn shrink_to_fit(&mut self) {
        match self {
            ItemMap::Linear(items) => items.shrink_to_fit(),
            ItemMap::Indexed(items) => items.shrink_to_fit(),
        }
    }
}

/// The kind and name of an item, which are unique in a session.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct ItemKey<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
}

impl<'a> ItemKey<'a> {
    pub(super) fn new(definition: &'a SharedDefinition) -> Self {
        Self {
            kind: definition.kind(),
            name: definition.name(),
        }
    }
}

impl Equivalent<SessionItem> for ItemKey<'_> {
    fn equivalent(&self, item: &SessionItem) -> bool {
        *self == ItemKey::new(&item.definition)
    }
}

impl Hash for SessionItem {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ItemKey::new(&self.definition).hash(state);
    }
}

impl PartialEq for SessionItem {
    fn eq(&self, other: &Self) -> bool {
        ItemKey::new(&self.definition) == ItemKey::new(&other.definition)
    }
}

impl Eq for SessionItem {}

#[cfg(test)]
mod tests {
    use bridge_protocol::Definition as Sent;
    use serde_json::value::RawValue;

    use super::*;
    use crate::definition::{DefinitionLimits, DefinitionRegistry};

    fn prompt(name: usize, registration: u64) -> SessionItem {
        let definition = RawValue::from_string(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        let kind = Kind::Prompt;
        let mut parsed =
            DefinitionRegistry::new(|_, _| Ok(()), DefinitionLimits { max_bytes: 1_000 })
                .parse(&[Sent { kind, definition }]);
        SessionItem {
            definition: parsed.remove(0).unwrap(),
            registration,
        }
    }

    fn registration_numbers(items: &ItemMap) -> Vec<u64> {
        items.iter().map(|item| item.registration).collect()
    }

    #[test]
    fn items_of_any_number_keep_their_order_when_replaced() {
        for most in [
            1,
            MAX_LINEAR_ITEMS,
            MAX_LINEAR_ITEMS + 1,
            3 * MAX_LINEAR_ITEMS,
        ] {
            let mut items = ItemMap::default();
            for n in 0..most {
                items.insert(prompt(n, n as u64));
            }
            assert_eq!(items.len(), most);
            items.insert(prompt(0, 1_000));
            let mut expected: Vec<u64> = (0..most as u64).collect();
            expected[0] = 1_000;
            assert_eq!(registration_numbers(&items), expected);
            let kind = Kind::Prompt;
            assert_eq!(
                items
                    .get(&ItemKey { kind, name: "0" })
                    .unwrap()
                    .registration,
                1_000
            );
            let other = Kind::Tool;
            assert!(
                items
                    .get(&ItemKey {
                        kind: other,
                        name: "0"
                    })
                    .is_none()
            );
            assert_eq!(
                items
                    .remove(&ItemKey { kind, name: "0" })
                    .unwrap()
                    .registration,
                1_000
            );
            assert!(items.remove(&ItemKey { kind, name: "0" }).is_none());
            assert_eq!(registration_numbers(&items), expected[1..]);
            items.clear();
            assert!(items.is_empty());
        }
    }
}
