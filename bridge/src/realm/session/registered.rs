//! The definitions of a session, each known by its kind and name.

use std::hash::{Hash, Hasher};

use bridge_protocol::Kind;
use indexmap::{Equivalent, IndexSet};

use crate::definition::Definition;

/// So many are looked through one after the other: a table beside them takes more memory than most
/// of ten thousand pages have for their sets, and finds nothing sooner.
const FEW: usize = 16;

/// A definition of a session and the number of the registration that brought it. Those of one kind
/// and name are one.
#[derive(Debug)]
pub(in crate::realm) struct Registered {
    pub(in crate::realm) definition: Definition,
    pub(in crate::realm) registration: u64,
}

/// In order of registration.
#[derive(Debug)]
pub(in crate::realm) enum Items {
    Few(Vec<Registered>),
    Many(Box<IndexSet<Registered>>),
}

impl Default for Items {
    fn default() -> Self {
        Items::Few(Vec::new())
    }
}

impl Items {
    pub(in crate::realm) fn len(&self) -> usize {
        match self {
            Items::Few(items) => items.len(),
            Items::Many(items) => items.len(),
        }
    }

    pub(in crate::realm) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::realm) fn iter(&self) -> impl Iterator<Item = &Registered> {
        let (few, many) = match self {
            Items::Few(items) => (Some(items), None),
            Items::Many(items) => (None, Some(items)),
        };
        let many = many.into_iter().flat_map(|items| items.iter());
        few.into_iter().flatten().chain(many)
    }

    pub(super) fn get(&self, named: &Named<'_>) -> Option<&Registered> {
        match self {
            Items::Few(items) => items.iter().find(|item| named.equivalent(*item)),
            Items::Many(items) => items.get(named),
        }
    }

    /// In the place of the one of that kind and name, or behind all.
    pub(super) fn put(&mut self, item: Registered) {
        match self {
            Items::Few(items) => {
                let named = Named::of(&item.definition);
                let former = items.iter().position(|other| named.equivalent(other));
                match former {
                    Some(place) => items[place] = item,
                    None if items.len() < FEW => items.push(item),
                    None => {
                        let mut many: IndexSet<_> = std::mem::take(items).into_iter().collect();
                        many.insert(item);
                        *self = Items::Many(Box::new(many));
                    }
                }
            }
            Items::Many(items) => {
                items.replace(item);
            }
        }
    }

    pub(super) fn take(&mut self, named: &Named<'_>) -> Option<Registered> {
        match self {
            Items::Few(items) => {
                let place = items.iter().position(|item| named.equivalent(item))?;
                Some(items.remove(place))
            }
            Items::Many(items) => items.shift_take(named),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Items::default();
    }

    pub(in crate::realm) fn shrink_to_fit(&mut self) {
        match self {
            Items::Few(items) => items.shrink_to_fit(),
            Items::Many(items) => items.shrink_to_fit(),
        }
    }
}

/// What tells the items of a session apart.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Named<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
}

impl<'a> Named<'a> {
    pub(super) fn of(definition: &'a Definition) -> Self {
        Self {
            kind: definition.kind(),
            name: definition.name(),
        }
    }
}

impl Equivalent<Registered> for Named<'_> {
    fn equivalent(&self, item: &Registered) -> bool {
        *self == Named::of(&item.definition)
    }
}

impl Hash for Registered {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Named::of(&self.definition).hash(state);
    }
}

impl PartialEq for Registered {
    fn eq(&self, other: &Self) -> bool {
        Named::of(&self.definition) == Named::of(&other.definition)
    }
}

impl Eq for Registered {}

#[cfg(test)]
mod tests {
    use bridge_protocol::Definition as Sent;
    use serde_json::value::RawValue;

    use super::*;
    use crate::definition::Definitions;

    fn prompt(name: usize, registration: u64) -> Registered {
        let definition = RawValue::from_string(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        let kind = Kind::Prompt;
        let mut parsed = Definitions::new(|_, _| Ok(()), 1_000).parse(&[Sent { kind, definition }]);
        Registered {
            definition: parsed.remove(0).unwrap(),
            registration,
        }
    }

    fn numbers(items: &Items) -> Vec<u64> {
        items.iter().map(|item| item.registration).collect()
    }

    #[test]
    fn few_and_many_keep_their_order_and_their_places() {
        for most in [1, FEW, FEW + 1, 3 * FEW] {
            let mut items = Items::default();
            for n in 0..most {
                items.put(prompt(n, n as u64));
            }
            assert_eq!(items.len(), most);
            items.put(prompt(0, 1_000));
            let mut expected: Vec<u64> = (0..most as u64).collect();
            expected[0] = 1_000;
            assert_eq!(numbers(&items), expected);
            let kind = Kind::Prompt;
            assert_eq!(
                items.get(&Named { kind, name: "0" }).unwrap().registration,
                1_000
            );
            let other = Kind::Tool;
            assert!(
                items
                    .get(&Named {
                        kind: other,
                        name: "0"
                    })
                    .is_none()
            );
            assert_eq!(
                items.take(&Named { kind, name: "0" }).unwrap().registration,
                1_000
            );
            assert!(items.take(&Named { kind, name: "0" }).is_none());
            assert_eq!(numbers(&items), expected[1..]);
            items.clear();
            assert!(items.is_empty());
        }
    }
}
