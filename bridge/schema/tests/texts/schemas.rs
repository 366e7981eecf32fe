//! Random schemas, most of them with the keywords for which texts are not parsed.

use serde_json::{Map, Value, json};

use crate::random::Random;
use crate::values::{NAMES, scalar};

const MAX_DEPTH: usize = 3;

/// The names in `$defs`.
const DEFINITIONS: [&str; 3] = ["a", "b", "tree"];

pub(crate) const PATTERNS: [&str; 12] = [
    "^a",
    "b$",
    "^[a-z]{1,3}$",
    "\\d",
    "é",
    "^\\S*$",
    "^(red|blue)$",
    "^red$",
    "^[A-Z0-9-]+$",
    "^x-",
    "\\w+\\s\\w+",
    "^$",
];

pub(crate) const FORMATS: [&str; 13] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
    "json-pointer",
    "regex",
    "unknown",
];

/// A schema of an object, as tools have it.
pub(crate) fn any_schema(random: &mut Random) -> Value {
    let mut schema = object_schema(random, 0);
    if random.one_in(8) {
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    }
    if schema.get("type").is_none() {
        schema["type"] = "object".into();
    }
    schema["$defs"] = json!({
        "a": subschema(random, 2),
        "b": subschema(random, 2),
        "tree": {"type": "object", "properties": {
            "a": subschema(random, 2),
            "next": {"$ref": "#/$defs/tree"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }, "additionalProperties": random.one_in(2)},
    });
    schema
}

fn subschema(random: &mut Random, depth: usize) -> Value {
    let is_deep = depth >= MAX_DEPTH;
    let mut schema = match random.below(24) {
        0..=4 => string_schema(random),
        5..=8 => number_schema(random),
        9 => json!({"type": "boolean"}),
        10 => json!({"type": "null"}),
        11 => choices_schema(random),
        12 => json!({}),
        13 => (!random.one_in(3)).into(),
        14 => types_schema(random),
        15 => json!({"$ref": format!("#/$defs/{}", random.pick(&DEFINITIONS))}),
        _ if is_deep => string_schema(random),
        16..=18 => object_schema(random, depth + 1),
        19 | 20 => array_schema(random, depth + 1),
        21 => json!({"anyOf": [subschema(random, depth + 1), {"type": "null"}]}),
        22 => union(random, depth + 1),
        _ => branches(random, depth + 1),
    };
    if let Some(fields) = schema.as_object_mut() {
        if random.one_in(6) {
            fields.insert("description".to_owned(), "text".into());
        }
        if random.one_in(200) {
            let (keyword, value) = other_keyword(random);
            fields.insert(keyword.to_owned(), value);
        }
    }
    schema
}

/// A keyword for which texts are parsed.
fn other_keyword(random: &mut Random) -> (&'static str, Value) {
    match random.below(6) {
        0 => ("not", json!({"type": "string"})),
        1 => ("contains", json!({"type": "integer"})),
        2 => ("if", json!({"minimum": 2})),
        3 => ("unevaluatedProperties", json!(false)),
        4 => ("dependentRequired", json!({"a": ["b"]})),
        _ => ("const", json!({"a": [1]})),
    }
}

fn string_schema(random: &mut Random) -> Value {
    let mut schema = json!({"type": "string"});
    match random.below(8) {
        0 => schema["minLength"] = random.below(5).into(),
        1 => {
            schema["minLength"] = random.below(3).into();
            schema["maxLength"] = (2 + random.below(30)).into();
        }
        2 => schema["pattern"] = random.pick(&PATTERNS).into(),
        3 => schema["format"] = random.pick(&FORMATS).into(),
        4 => schema["enum"] = json!(["red", "blue", "", "é\n", "a\"b"]),
        5 => schema["const"] = random.pick(&["red", "a\"b", ""]).into(),
        _ => {}
    }
    if random.one_in(6) {
        schema.as_object_mut().unwrap().shift_remove("type");
    }
    schema
}

fn number_schema(random: &mut Random) -> Value {
    let kind = random.pick(&["integer", "integer", "number"]);
    let mut schema = json!({ "type": kind });
    let limit = |random: &mut Random| match random.below(8) {
        0 => json!(0.5),
        1 => json!(-1.0),
        2 => json!(u64::MAX),
        3 => json!(i64::MIN),
        4 => json!(1e300),
        _ => json!(random.below(7) as i64 - 3),
    };
    for (keyword, share) in [
        ("minimum", 4),
        ("maximum", 6),
        ("exclusiveMinimum", 10),
        ("exclusiveMaximum", 10),
    ] {
        if random.one_in(share) {
            schema[keyword] = limit(random);
        }
    }
    if random.one_in(8) {
        schema["multipleOf"] = random.pick(&[
            json!(1),
            json!(2),
            json!(10),
            json!(0.1),
            json!(0.01),
            json!(1e-300),
        ]);
    }
    if random.one_in(12) {
        schema["enum"] = random.pick(&[
            json!([1, 2, 3]),
            json!([0, 1.5, 2.0]),
            json!([u64::MAX, -1]),
        ]);
    }
    if random.one_in(10) {
        schema.as_object_mut().unwrap().shift_remove("type");
    }
    schema
}

fn choices_schema(random: &mut Random) -> Value {
    if random.one_in(3) {
        return json!({"const": scalar(random)});
    }
    let mut values: Vec<Value> = Vec::new();
    for _ in 0..1 + random.below(4) {
        let value = scalar(random);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    json!({ "enum": values })
}

fn types_schema(random: &mut Random) -> Value {
    const TYPES: [&str; 7] = [
        "object", "array", "string", "integer", "number", "null", "boolean",
    ];
    let first = random.below(TYPES.len() - 1);
    let mut schema = json!({"type": [TYPES[first], TYPES[first + 1]]});
    if random.one_in(3) {
        schema["minLength"] = 2.into();
        schema["maximum"] = 5.into();
        schema["minItems"] = 1.into();
        schema["required"] = json!(["a"]);
    }
    schema
}

fn object_schema(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    for _ in 0..random.below(5) {
        let name = random.pick(&NAMES).to_owned();
        properties.insert(name, subschema(random, depth));
    }
    let names: Vec<_> = properties.keys().cloned().collect();
    let mut schema = json!({"type": "object"});
    if !properties.is_empty() || random.one_in(2) {
        schema["properties"] = properties.into();
    }
    if random.one_in(2) && !names.is_empty() {
        schema["required"] = json!([random.pick(&names)]);
    }
    if random.one_in(16) {
        schema["required"] = json!(["a", "other"]);
    }
    if random.one_in(3) {
        schema["additionalProperties"] = if random.one_in(4) {
            subschema(random, depth)
        } else {
            false.into()
        };
    }
    if random.one_in(12) {
        let pattern = random.pick(&PATTERNS).to_owned();
        schema["patternProperties"] = json!({ pattern: subschema(random, depth) });
    }
    if random.one_in(16) {
        schema["propertyNames"] = subschema(random, MAX_DEPTH);
    }
    if random.one_in(14) {
        schema["minProperties"] = random.below(4).into();
    }
    if random.one_in(14) {
        schema["maxProperties"] = (1 + random.below(4)).into();
    }
    if random.one_in(16) && depth < MAX_DEPTH {
        schema["allOf"] = json!([subschema(random, depth + 1)]);
    }
    if random.one_in(16) {
        schema.as_object_mut().unwrap().shift_remove("type");
    }
    schema
}

fn array_schema(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "array"});
    if !random.one_in(5) {
        schema["items"] = subschema(random, depth);
    }
    if random.one_in(8) {
        schema["prefixItems"] = json!([subschema(random, depth), subschema(random, depth)]);
    }
    if random.one_in(8) {
        schema["minItems"] = random.below(3).into();
    }
    if random.one_in(8) {
        schema["maxItems"] = (1 + random.below(4)).into();
    }
    if random.one_in(8) {
        schema["uniqueItems"] = true.into();
    }
    schema
}

/// A union of objects that a member distinguishes.
fn union(random: &mut Random, depth: usize) -> Value {
    let branches: Vec<Value> = ["red", "blue", "other"]
        .iter()
        .map(|kind| {
            let mut branch = object_schema(random, depth);
            branch["properties"]["kind"] = if random.one_in(4) {
                json!({"enum": [kind, "both"]})
            } else {
                json!({ "const": kind })
            };
            branch["required"] = json!(["kind"]);
            branch
        })
        .collect();
    json!({ random.pick(&["anyOf", "oneOf"]): branches })
}

fn branches(random: &mut Random, depth: usize) -> Value {
    let keyword = random.pick(&["anyOf", "anyOf", "oneOf", "oneOf", "allOf"]);
    let branches: Vec<_> = (0..1 + random.below(3))
        .map(|_| subschema(random, depth))
        .collect();
    let mut schema = json!({ keyword: branches });
    if random.one_in(4) {
        schema["type"] = random.pick(&["object", "string", "array"]).into();
    }
    schema
}
