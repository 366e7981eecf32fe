//! Random values, most of which fulfil a schema.

use serde_json::{Map, Value, json};

use crate::random::Random;

pub(crate) const NAMES: [&str; 10] = [
    "a", "b", "id", "name", "kind", "next", "list", "x-1", "é", "a\"b",
];

const MAX_DEPTH: usize = 6;

pub(crate) fn scalar(random: &mut Random) -> Value {
    match random.below(16) {
        0 => json!(0),
        1 => json!(-0.0),
        2 => json!(1.5),
        3 => json!(u64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e300),
        6 => json!(null),
        7 => json!(random.one_in(2)),
        8..=10 => json!(random.below(9) as i64 - 3),
        _ => json!(text(random)),
    }
}

pub(crate) fn text(random: &mut Random) -> String {
    const TEXTS: [&str; 24] = [
        "",
        "a",
        "red",
        "blue",
        "both",
        "abc1",
        "é\n",
        "a\"b",
        "x-y",
        "two words",
        "\u{1f600}\u{0}",
        "2026-07-28",
        "2026-07-28T12:00:00Z",
        "12:00:00Z",
        "P1D",
        "a@example.com",
        "example.com",
        "127.0.0.1",
        "::1",
        "https://example.com/a?b#c",
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "/a/b",
        "2026-02-30",
        "A long text, longer than the others, with \\ and / in it.",
    ];
    random.pick(&TEXTS).to_owned()
}

/// A value that may fulfil a schema of the document `root`.
pub(crate) fn value_for(random: &mut Random, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH || random.one_in(60) {
        return any_value(random, depth);
    }
    let Some(fields) = schema.as_object() else {
        return any_value(random, depth);
    };
    let list = |keyword: &str| fields.get(keyword).and_then(Value::as_array);
    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(&target[1..]).unwrap_or(&Value::Null);
        return value_for(random, target, root, depth + 1);
    }
    if let Some(value) = fields.get("const") {
        return value.clone();
    }
    if let Some(values) = list("enum") {
        return random.pick(values);
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(branches) = list(keyword).filter(|branches| !branches.is_empty()) {
            if fields.contains_key("properties") && random.one_in(2) {
                break;
            }
            return value_for(random, random_item(branches, depth), root, depth + 1);
        }
    }
    let kind = match fields.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => kinds[random.below(kinds.len())].as_str().unwrap(),
        _ if fields.contains_key("properties") => "object",
        _ if fields.contains_key("minimum") => "number",
        _ => return any_value(random, depth),
    };
    match kind {
        "object" => object_for(random, fields, root, depth),
        "array" => array_for(random, fields, root, depth),
        "string" => text_for(random, fields).into(),
        "integer" | "number" => number_for(random, fields),
        "boolean" => random.one_in(2).into(),
        _ => Value::Null,
    }
}

/// An item that depends on the depth, so that a recursive schema ends.
fn random_item(items: &[Value], depth: usize) -> &Value {
    &items[depth % items.len()]
}

fn object_for(
    random: &mut Random,
    fields: &Map<String, Value>,
    root: &Value,
    depth: usize,
) -> Value {
    let mut members = Map::new();
    let required = fields.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let properties = fields.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if is_required(name) || !random.one_in(3) {
            members.insert(name.clone(), value_for(random, schema, root, depth + 1));
        }
    }
    let patterns = fields.get("patternProperties").and_then(Value::as_object);
    for schema in patterns.into_iter().flat_map(Map::values) {
        let name = if random.one_in(2) {
            "x-1".to_owned()
        } else {
            text(random)
        };
        members.insert(name, value_for(random, schema, root, depth + 1));
    }
    let additional = fields.get("additionalProperties");
    if additional.is_none_or(Value::is_object) && random.one_in(2) || random.one_in(30) {
        let value = value_for(random, additional.unwrap_or(&Value::Null), root, depth + 1);
        members.insert(random.pick(&["other", "b", "id"]).to_owned(), value);
    }
    if random.one_in(3) {
        members.reverse_order();
    }
    members.into()
}

trait ReverseOrder {
    fn reverse_order(&mut self);
}

impl ReverseOrder for Map<String, Value> {
    fn reverse_order(&mut self) {
        *self = std::mem::take(self).into_iter().rev().collect();
    }
}

fn array_for(
    random: &mut Random,
    fields: &Map<String, Value>,
    root: &Value,
    depth: usize,
) -> Value {
    let prefix = fields.get("prefixItems").and_then(Value::as_array);
    let items = fields.get("items").unwrap_or(&Value::Null);
    let limit = |keyword: &str| fields.get(keyword).and_then(Value::as_u64);
    let min = usize::try_from(limit("minItems").unwrap_or(0)).unwrap();
    let count = match (random.one_in(40), depth < 3) {
        (true, true) => 70,
        _ => min + random.below(4),
    };
    (0..count)
        .map(|index| {
            let schema = prefix.and_then(|prefix| prefix.get(index)).unwrap_or(items);
            value_for(random, schema, root, depth + 1)
        })
        .collect()
}

fn text_for(random: &mut Random, fields: &Map<String, Value>) -> String {
    let matching = match fields
        .get("pattern")
        .or(fields.get("format"))
        .and_then(Value::as_str)
    {
        Some("^a" | "^[a-z]{1,3}$" | "^\\S*$") => "a",
        Some("b$") => "b",
        Some("\\d" | "^[A-Z0-9-]+$") => "7",
        Some("é") => "é",
        Some("^(red|blue)$" | "^red$") => "red",
        Some("^x-") => "x-",
        Some("\\w+\\s\\w+") => "two words",
        Some("date") => "2026-07-28",
        Some("date-time") => "2026-07-28T12:00:00.5+01:00",
        Some("time") => "12:00:00Z",
        Some("duration") => "P1DT2H",
        Some("email") => "a@example.com",
        Some("hostname") => "example.com",
        Some("ipv4") => "10.0.0.1",
        Some("ipv6") => "fe80::1",
        Some("uri") => "https://example.com/é",
        Some("uuid") => "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        _ => return text(random),
    };
    if random.one_in(6) {
        text(random)
    } else {
        matching.to_owned()
    }
}

fn number_for(random: &mut Random, fields: &Map<String, Value>) -> Value {
    let limit = |keyword: &str| fields.get(keyword).filter(|_| !fields.is_empty()).cloned();
    let near = limit("minimum")
        .or(limit("exclusiveMinimum"))
        .or(limit("maximum"))
        .or(limit("exclusiveMaximum"));
    match (near, random.below(6)) {
        (Some(near), 0) => near,
        (Some(near), 1..=3) => match near.as_i64() {
            Some(near) => json!(near.saturating_add(random.below(5) as i64 - 2)),
            None => json!(near.as_f64().unwrap() + random.below(5) as f64 - 2.0),
        },
        (_, 4) => json!(random.below(200) as f64 / 10.0),
        (_, 5) => json!(random.next() as i64 >> random.below(64)),
        _ => json!(random.below(20)),
    }
}

fn any_value(random: &mut Random, depth: usize) -> Value {
    match random.below(6) {
        0 if depth < MAX_DEPTH => (0..random.below(4))
            .map(|_| any_value(random, depth + 1))
            .collect(),
        1 if depth < MAX_DEPTH => (0..random.below(4))
            .map(|_| {
                let name = random.pick(&NAMES).to_owned();
                (name, any_value(random, depth + 1))
            })
            .collect::<Map<_, _>>()
            .into(),
        _ => scalar(random),
    }
}
