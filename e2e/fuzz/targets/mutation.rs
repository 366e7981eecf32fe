//! Changes some values of a JSON template.

use serde_json::{Map, Value, json};

use crate::choices::Choices;

/// The maximum number of changes of one template.
const MAX_CHANGES: usize = 4;

/// Lengths of texts and lists that exceed some limit of the bridge or the agent.
const LONG: [usize; 4] = [65, 300, 5_000, 70_000];

/// A longer value is not copied: copies of copies would be endless.
const MAX_COPIED_BYTES: usize = 2_000;

/// Text that is inserted into JSON text, where it may be valid or not.
const SNIPPETS: [&str; 14] = [
    "\\ud800", "\\udc00", "\\u0000", "\\/", "\u{7f}", "é", "\"", "{", "]", ",", ":", " ", "1e999",
    "\n",
];

/// Changes up to [`MAX_CHANGES`] values. `words` are strings that have a meaning for the receiver,
/// such as ids.
pub(crate) fn mutate(template: &Value, choices: &mut Choices<'_>, words: &[String]) -> Value {
    let mut value = template.clone();
    for _ in 0..choices.below(MAX_CHANGES + 1) {
        let place = find_place(&mut value, choices);
        change(place, choices, words);
    }
    value
}

/// The text of a value, which in some cases is changed at one position.
pub(crate) fn mutated_text(value: &Value, choices: &mut Choices<'_>) -> String {
    let mut text = value.to_string();
    if choices.one_in(8) {
        let snippet = choices.pick(&SNIPPETS);
        let position = choices.below(text.len() + 1);
        text.insert_str(text.floor_char_boundary(position), snippet);
    }
    if choices.one_in(16) {
        let end = choices.below(text.len() + 1);
        text.truncate(text.floor_char_boundary(end));
    }
    text
}

fn find_place<'v>(value: &'v mut Value, choices: &mut Choices<'_>) -> &'v mut Value {
    let child_count = match &*value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    if child_count == 0 || choices.one_in(6) {
        return value;
    }
    let index = choices.below(child_count);
    let child = match value {
        Value::Array(items) => items.get_mut(index),
        Value::Object(members) => members.values_mut().nth(index),
        _ => None,
    };
    find_place(child.expect("the index is below the count"), choices)
}

fn change(place: &mut Value, choices: &mut Choices<'_>, words: &[String]) {
    match choices.below(6) {
        0 if !words.is_empty() => *place = choices.pick(words).as_str().into(),
        1 => *place = scalar(choices),
        2 => *place = large(place, choices),
        3 => remove_child(place, choices),
        4 => add_child(place, choices, words),
        _ => *place = json!([place.clone()]),
    }
}

fn scalar(choices: &mut Choices<'_>) -> Value {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(1.5),
        json!(7),
        json!(1e300),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_u64),
    ];
    match choices.below(6) {
        0 => Value::Null,
        1 => Value::Bool(choices.one_in(2)),
        2 => json!({}),
        3 => json!([]),
        4 => choices.text().into(),
        _ => choices.pick(&numbers).clone(),
    }
}

fn large(place: &Value, choices: &mut Choices<'_>) -> Value {
    let length = *choices.pick(&LONG);
    match choices.below(3) {
        0 => "x".repeat(length).into(),
        _ if place.to_string().len() > MAX_COPIED_BYTES => Value::Null,
        1 => (0..length.min(300)).map(|_| place.clone()).collect(),
        _ => (0..length.min(110)).fold(place.clone(), |inner, _| json!([inner])),
    }
}

fn remove_child(place: &mut Value, choices: &mut Choices<'_>) {
    match place {
        Value::Object(members) if !members.is_empty() => {
            let index = choices.below(members.len());
            let name = members.keys().nth(index).cloned().unwrap_or_default();
            members.shift_remove(&name);
        }
        Value::Array(items) if !items.is_empty() => {
            items.remove(choices.below(items.len()));
        }
        _ => *place = Value::Null,
    }
}

fn add_child(place: &mut Value, choices: &mut Choices<'_>, words: &[String]) {
    match place {
        Value::Object(members) => add_member(members, choices, words),
        Value::Array(items) if !items.is_empty() => {
            let copy = items[choices.below(items.len())].clone();
            items.push(copy);
        }
        _ => *place = scalar(choices),
    }
}

fn add_member(members: &mut Map<String, Value>, choices: &mut Choices<'_>, words: &[String]) {
    let name = if words.is_empty() || choices.one_in(4) {
        choices.text()
    } else {
        choices.pick(words).clone()
    };
    let copied = match members.len() {
        0 => None,
        count => members.values().nth(choices.below(count)).cloned(),
    };
    let value = copied
        .filter(|_| choices.one_in(2))
        .unwrap_or_else(|| scalar(choices));
    members.insert(name, value);
}
