//! Schemas with the keywords of a draft, and values for them.

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use crate::choices::Choices;

/// A draft of JSON Schema, with the keywords that it has.
#[derive(Debug)]
pub(crate) struct DraftKeywords {
    pub(crate) draft: Draft,
    uri: &'static str,
    keywords: &'static [&'static str],
    /// The keyword for schemas that others refer to.
    definitions: &'static str,
}

const OF_ALL: [&str; 22] = [
    "type",
    "enum",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "items",
    "minItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "$ref",
    "format",
];

pub(crate) const DRAFTS: [DraftKeywords; 5] = [
    DraftKeywords {
        draft: Draft::Draft202012,
        uri: "https://json-schema.org/draft/2020-12/schema",
        keywords: &[
            "const",
            "contains",
            "minContains",
            "exclusiveMinimum",
            "propertyNames",
            "if",
            "then",
            "dependentRequired",
            "dependentSchemas",
            "prefixItems",
            "unevaluatedProperties",
            "unevaluatedItems",
            "$anchor",
        ],
        definitions: "$defs",
    },
    DraftKeywords {
        draft: Draft::Draft201909,
        uri: "https://json-schema.org/draft/2019-09/schema",
        keywords: &[
            "const",
            "contains",
            "minContains",
            "exclusiveMinimum",
            "propertyNames",
            "if",
            "then",
            "dependentRequired",
            "dependentSchemas",
            "items[]",
            "additionalItems",
            "unevaluatedProperties",
            "$recursiveRef",
            "$anchor",
        ],
        definitions: "$defs",
    },
    DraftKeywords {
        draft: Draft::Draft7,
        uri: "http://json-schema.org/draft-07/schema#",
        keywords: &[
            "const",
            "contains",
            "exclusiveMinimum",
            "propertyNames",
            "if",
            "then",
            "dependencies",
            "items[]",
            "additionalItems",
        ],
        definitions: "definitions",
    },
    DraftKeywords {
        draft: Draft::Draft6,
        uri: "http://json-schema.org/draft-06/schema#",
        keywords: &[
            "const",
            "contains",
            "exclusiveMinimum",
            "propertyNames",
            "dependencies",
            "items[]",
            "additionalItems",
        ],
        definitions: "definitions",
    },
    DraftKeywords {
        draft: Draft::Draft4,
        uri: "http://json-schema.org/draft-04/schema#",
        keywords: &[
            "exclusiveMinimum?",
            "dependencies",
            "items[]",
            "additionalItems",
        ],
        definitions: "definitions",
    },
];

const MAX_DEPTH: usize = 4;

const NAMES: [&str; 4] = ["a", "b", "v", "id"];

/// A schema of an object with one member `v`.
pub(crate) fn any_schema(choices: &mut Choices<'_>, draft: &DraftKeywords) -> Value {
    let mut schema = json!({ "$schema": draft.uri, "type": "object" });
    if draft.keywords.contains(&"$recursiveRef") && choices.one_in(3) {
        schema["$recursiveAnchor"] = true.into();
    }
    schema["properties"] = json!({ "v": subschema(choices, draft, 0) });
    if choices.one_in(2) {
        let definitions =
            json!({ "a": subschema(choices, draft, 1), "b": subschema(choices, draft, 1) });
        schema[draft.definitions] = definitions;
    }
    schema
}

fn subschema(choices: &mut Choices<'_>, draft: &DraftKeywords, depth: usize) -> Value {
    if draft.draft != Draft::Draft4 && choices.one_in(12) {
        return choices.one_in(2).into();
    }
    let mut schema = Map::new();
    for _ in 0..choices.below(4) {
        let index = choices.below(OF_ALL.len() + draft.keywords.len());
        let keyword = OF_ALL.iter().chain(draft.keywords).nth(index);
        if let Some(keyword) = keyword {
            add_keyword(&mut schema, keyword, choices, draft, depth);
        }
    }
    Value::Object(schema)
}

fn add_keyword(
    schema: &mut Map<String, Value>,
    keyword: &str,
    choices: &mut Choices<'_>,
    draft: &DraftKeywords,
    depth: usize,
) {
    const TYPES: [&str; 7] = [
        "object", "array", "string", "integer", "number", "null", "boolean",
    ];
    let mut name = keyword;
    let is_deep = depth >= MAX_DEPTH;
    let value = match keyword {
        "type" if choices.one_in(3) => {
            let first = choices.below(TYPES.len() - 1);
            json!([TYPES[first], TYPES[first + 1]])
        }
        "type" => json!(choices.pick(&TYPES)),
        "enum" => {
            let mut values = vec![any_value(choices), any_value(choices), json!("x")];
            let mut unique: Vec<Value> = Vec::new();
            values.retain(|value| {
                let is_new = !unique.contains(value);
                unique.push(value.clone());
                is_new
            });
            values.into()
        }
        "const" => any_value(choices),
        "minimum" | "maximum" | "exclusiveMinimum" => json!(choices.below(4)),
        "multipleOf" => json!(choices.below(3) + 1),
        "minLength" | "maxLength" | "minItems" | "maxProperties" => json!(choices.below(4)),
        "pattern" => json!(choices.pick(&["^a", "b$", "^[a-z]{1,3}$", "\\d", "é"])),
        "format" => json!(choices.pick(&["date", "email", "ipv4", "unknown"])),
        "uniqueItems" => json!(choices.one_in(2)),
        "exclusiveMinimum?" => {
            name = "exclusiveMinimum";
            schema.insert("minimum".to_owned(), json!(choices.below(4)));
            json!(choices.one_in(2))
        }
        "minContains" => {
            schema.insert("contains".to_owned(), subschema(choices, draft, depth + 1));
            json!(choices.below(3))
        }
        "required" => json!([choices.pick(&NAMES)]),
        "dependentRequired" => json!({ *choices.pick(&NAMES): [choices.pick(&NAMES)] }),
        "$ref" => {
            let place = draft.definitions;
            json!(choices.pick(&[
                "#".to_owned(),
                format!("#/{place}/a"),
                format!("#/{place}/b"),
                "#/properties/v".to_owned(),
                "#here".to_owned(),
            ]))
        }
        "$recursiveRef" => json!("#"),
        "$anchor" => json!("here"),
        _ if is_deep => return,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => json!([
            subschema(choices, draft, depth + 1),
            subschema(choices, draft, depth + 1)
        ]),
        "items[]" => {
            name = "items";
            let count = choices.below(3) + usize::from(draft.draft == Draft::Draft4);
            (0..count)
                .map(|_| subschema(choices, draft, depth + 1))
                .collect()
        }
        "properties" | "dependentSchemas" => {
            let first = subschema(choices, draft, depth + 1);
            json!({ *choices.pick(&NAMES): first, "a": subschema(choices, draft, depth + 1) })
        }
        "patternProperties" => {
            json!({ *choices.pick(&["^a", "."]): subschema(choices, draft, depth + 1) })
        }
        "dependencies" => json!({
            *choices.pick(&NAMES): subschema(choices, draft, depth + 1),
            "b": [choices.pick(&NAMES)]
        }),
        _ => subschema(choices, draft, depth + 1),
    };
    schema.insert(name.to_owned(), value);
}

/// A value that a schema may accept.
pub(crate) fn any_value(choices: &mut Choices<'_>) -> Value {
    value_at(choices, 0)
}

fn value_at(choices: &mut Choices<'_>, depth: usize) -> Value {
    let scalars = [
        json!(0),
        json!("a"),
        json!(null),
        json!(true),
        json!(3),
        json!(1.5),
        json!("abc1"),
        json!("2026-07-28"),
        json!(-7),
        json!("é"),
    ];
    match choices.below(4) {
        0 if depth < MAX_DEPTH => (0..choices.below(4))
            .map(|_| value_at(choices, depth + 1))
            .collect(),
        1 if depth < MAX_DEPTH => (0..choices.below(4))
            .map(|_| {
                (
                    choices.pick(&NAMES).to_string(),
                    value_at(choices, depth + 1),
                )
            })
            .collect::<Map<_, _>>()
            .into(),
        _ => choices.pick(&scalars).clone(),
    }
}
