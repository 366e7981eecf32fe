//! Finds the items of events in the whole response at the end.
//!
//! Each item is compared with each other one, so that its arguments are parsed once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::super::{field, json_text, string};
use super::item::{OutputItem, item_id, kind, text_of_message};
use crate::model::turn_builder::{TurnBuilder, parse_object};

/// Returns the indexes in the events of the items of the whole response, as far as they are there. A
/// gateway may make up other ids in it, or leave items out, so that other places follow.
pub(super) fn own_indexes<'a>(
    own: impl Iterator<Item = (u64, &'a OutputItem)>,
    output: &'a [Value],
    turn: &'a TurnBuilder,
) -> Vec<Option<u64>> {
    let mut keys = ArgumentKeys::default();
    let own: HashMap<u64, Content<'_>> = own
        .map(|(index, item)| (index, Content::of_own(item, turn, &mut keys)))
        .collect();
    let whole: Vec<_> = output
        .iter()
        .map(|item| Content::of_whole(item, &mut keys))
        .collect();
    let mut found: Vec<Option<u64>> = vec![None; output.len()];
    let mut free: BTreeSet<u64> = own.keys().copied().collect();
    for is_same in [
        Content::has_id_of,
        Content::has_content_of,
        Content::has_kind_of,
    ] {
        for (position, whole) in whole.iter().enumerate() {
            if found[position].is_some() {
                continue;
            }
            let at_position = free.get(&(position as u64)).into_iter();
            let same = at_position
                .chain(&free)
                .find(|index| is_same(&own[*index], whole));
            found[position] = same.copied();
            if let Some(index) = found[position] {
                free.remove(&index);
            }
        }
    }
    found
}

/// The parts of an item by which it is found.
struct Content<'a> {
    kind: &'a str,
    id: &'a str,
    /// The name of the tool of a call.
    name: &'a str,
    is_call: bool,
    /// Whether more of the item may follow.
    is_open: bool,
    arguments: Cow<'a, str>,
    /// Equal for equal arguments.
    arguments_key: usize,
    text: Cow<'a, str>,
}

impl<'a> Content<'a> {
    fn of_own(item: &'a OutputItem, turn: &'a TurnBuilder, keys: &mut ArgumentKeys) -> Self {
        let arguments = item.call.map_or("", |call| turn.arguments_so_far(call));
        Self {
            kind: item.kind(),
            id: &item.id,
            name: &item.name,
            is_call: item.call.is_some(),
            is_open: item.whole.is_none(),
            arguments: arguments.into(),
            arguments_key: keys.key(arguments),
            text: (&*item.text).into(),
        }
    }

    fn of_whole(item: &'a Value, keys: &mut ArgumentKeys) -> Self {
        let arguments = json_text(field(item, "arguments"));
        Self {
            kind: kind(item),
            id: item_id(item),
            name: string(item, "name"),
            is_call: kind(item) == "function_call",
            is_open: false,
            arguments_key: keys.key(&arguments),
            arguments,
            text: text_of_message(item).into(),
        }
    }

    fn has_id_of(&self, whole: &Self) -> bool {
        !self.id.is_empty() && self.id == whole.id && self.kind == whole.kind
    }

    /// Whether an item of the whole response has the content of this one. While this one has not ended,
    /// its content is the beginning.
    fn has_content_of(&self, whole: &Self) -> bool {
        if self.kind != whole.kind {
            return false;
        }
        if !self.is_call {
            return !self.text.is_empty() && whole.text.starts_with(&*self.text);
        }
        let is_name_same = self.name.is_empty() || self.name == whole.name;
        let is_beginning = || self.is_open && whole.arguments.starts_with(&*self.arguments);
        is_name_same && (self.arguments_key == whole.arguments_key || is_beginning())
    }

    /// Whether an item of the whole response can be this one, with another content. A call is another one.
    fn has_kind_of(&self, whole: &Self) -> bool {
        !self.is_call && self.kind == whole.kind
    }
}

/// Numbers for arguments, by their fields in any order. Text that is not an object is equal to itself.
#[derive(Default)]
struct ArgumentKeys(HashMap<String, usize>);

impl ArgumentKeys {
    fn key(&mut self, arguments: &str) -> usize {
        let canonical = parse_object(arguments).map_or_else(
            |_| arguments.to_owned(),
            |fields| {
                let mut value = Value::Object(fields);
                value.sort_all_objects();
                value.to_string()
            },
        );
        let next = self.0.len();
        *self.0.entry(canonical).or_insert(next)
    }
}
