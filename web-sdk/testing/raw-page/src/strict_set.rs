//! Definitions with every keyword and every field in every wrong form, each beside valid ones. A
//! bridge must refuse or repair each of them, so that the strictest client can read its lists.

use bridge_protocol::Kind;
use serde_json::{Value, json};

use crate::Page;

/// One definition of the set.
#[derive(Debug)]
pub struct StrictCase {
    /// The kind of the definition.
    pub kind: Kind,
    /// The unusual part of it, such as `/inputSchema/properties/x/enum = []`.
    pub case: String,
    /// The whole definition. Its name or URI is unique.
    pub definition: Value,
}

/// Values of every type. Most keywords allow one or two of them.
const VALUES: [&str; 12] = [
    "null",
    "true",
    "false",
    "0",
    "1.5",
    "\"text\"",
    "[]",
    "[\"text\"]",
    "[7]",
    "{}",
    "{\"a\":true}",
    "{\"a\":7}",
];

/// The keywords of JSON Schema from draft-03 to 2020-12, of OpenAPI and of Ajv.
const KEYWORDS: &str = "$schema $id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef \
    $recursiveAnchor $vocabulary $comment $defs $async $data id type enum const title description \
    default examples example deprecated readOnly writeOnly nullable discriminator allOf anyOf oneOf \
    not if then else properties patternProperties additionalProperties unevaluatedProperties \
    propertyNames required dependentRequired dependentSchemas dependencies minProperties \
    maxProperties items prefixItems additionalItems unevaluatedItems contains minContains maxContains \
    minItems maxItems uniqueItems pattern format minLength maxLength contentEncoding \
    contentMediaType contentSchema minimum maximum exclusiveMinimum exclusiveMaximum multipleOf \
    formatMinimum formatMaximum formatExclusiveMinimum formatExclusiveMaximum divisibleBy disallow \
    extends definitions __proto__ constructor x-own";

/// The places of a tool in which each keyword stands. The first of each side is the root.
const SCHEMA_PLACES: [&str; 6] = [
    "/inputSchema",
    "/inputSchema/properties/x",
    "/inputSchema/properties/list/items",
    "/outputSchema",
    "/outputSchema/properties/x",
    "/outputSchema/$defs/d",
];

/// Subschemas with more than one keyword, or with a value that only some readers refuse.
const SUBSCHEMAS: &[&str] = &[
    r#"{"type":"string","nullable":true}"#,
    r#"{"type":["string","null"],"nullable":false}"#,
    r##"{"$ref":"#/$defs/d","nullable":true}"##,
    r##"{"$ref":"#"}"##,
    r##"{"$ref":"#/properties/x"}"##,
    r##"{"$ref":"#/$defs/absent"}"##,
    r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#,
    r#"{"$ref":"https://example.com/schema"}"#,
    r#"{"$anchor":"a","$dynamicAnchor":"a"}"#,
    r#"{"anyOf":[{"$id":"b"},{"$id":"b"}]}"#,
    r#"{"anyOf":[{"$anchor":"b"},{"$anchor":"b"}]}"#,
    r#"{"properties":{"__proto__":{"type":"string"}}}"#,
    r#"{"properties":{"a":true,"b":false}}"#,
    r#"{"required":["__proto__"]}"#,
    r#"{"allOf":[true,false]}"#,
    r#"{"prefixItems":[true,{}],"items":false}"#,
    r#"{"items":[true,{}],"additionalItems":false}"#,
    r#"{"patternProperties":{"^\\-":true}}"#,
    r#"{"patternProperties":{"(?i)a":{}}}"#,
    r#"{"format":"date","formatMinimum":"2026-01-01"}"#,
    r#"{"format":"unknown"}"#,
    r#"{"format":"__proto__"}"#,
    r#"{"pattern":"^\\-\\_\\@[\\w-.]{2}$"}"#,
    r#"{"pattern":"{a}]"}"#,
    r#"{"pattern":"(?i)a"}"#,
    r#"{"pattern":"\\p{IsGreek}"}"#,
    r#"{"pattern":"(?<!a)b\\1"}"#,
    r#"{"x-own":{"$anchor":"a"}}"#,
    r#"{"type":"object","additionalProperties":{"type":"number"}}"#,
    r#"{"minLength":9007199254740993,"multipleOf":1e-300}"#,
];

/// Values for the fields of definitions that are objects or lists.
const FIELD_VALUES: &[&str] = &[
    r#"{"title":7}"#,
    r#"{"readOnlyHint":"yes"}"#,
    r#"{"destructiveHint":null}"#,
    r#"{"priority":2}"#,
    r#"{"priority":-1}"#,
    r#"{"priority":"1"}"#,
    r#"{"lastModified":"yesterday"}"#,
    r#"{"lastModified":"2026-01-31"}"#,
    r#"{"lastModified":1769860805}"#,
    r#"{"audience":"user"}"#,
    r#"{"audience":["me"]}"#,
    r#"{"audience":["user"],"priority":0.5,"lastModified":"2026-01-31T12:00:00Z"}"#,
    r#"{"taskSupport":"yes"}"#,
    r#"{"taskSupport":"required"}"#,
    r#"{"__proto__":{}}"#,
    r#"[{"src":"a.png"}]"#,
    r#"[{"src":"a.png","sizes":"48x48"}]"#,
    r#"[{"src":"a.png","sizes":[48],"theme":"light"}]"#,
    r#"[{"src":"a.png","theme":"blue"}]"#,
    r#"[{"src":7}]"#,
    r#"[{"name":"a"}]"#,
    r#"[{"name":"a","required":"yes"}]"#,
    r#"[{"name":"a","description":7}]"#,
    r#"[{"title":"a"}]"#,
    "-1",
    "1e3",
    "18446744073709551615",
    "1e300",
];

const FIELDS: &str = "title description annotations execution icons _meta arguments mimeType size \
    inputSchema outputSchema own";

/// Every keyword and every field with every value, in each place where clients read it.
pub fn strict_set() -> Vec<StrictCase> {
    let mut set = Vec::new();
    for place in SCHEMA_PLACES {
        for keyword in KEYWORDS.split_whitespace() {
            for value in VALUES {
                let schema = parse(&format!("{{{}:{value}}}", json!(keyword)));
                add_tool(
                    &mut set,
                    place,
                    &schema,
                    format!("{place}/{keyword} = {value}"),
                );
            }
        }
        for value in SUBSCHEMAS {
            add_tool(&mut set, place, &parse(value), format!("{place} = {value}"));
        }
    }
    for value in VALUES {
        for place in ["/inputSchema/properties/x", "/outputSchema/properties/x"] {
            add_tool(&mut set, place, &parse(value), format!("{place} = {value}"));
        }
    }
    for kind in [
        Kind::Tool,
        Kind::Prompt,
        Kind::Resource,
        Kind::ResourceTemplate,
    ] {
        for field in FIELDS.split_whitespace() {
            for value in VALUES.iter().chain(FIELD_VALUES) {
                let mut definition = plain_definition(kind, set.len());
                definition[field] = parse(value);
                add(&mut set, kind, definition, format!("/{field} = {value}"));
            }
        }
    }
    for uri in [
        "http://[bad",
        "board://cards:today",
        "http:",
        "a b:c",
        "cards",
        "x:",
        "x://a:1",
    ] {
        let definition = json!({ "uri": uri, "name": "n" });
        add(
            &mut set,
            Kind::Resource,
            definition,
            format!("/uri = {uri}"),
        );
    }
    set
}

/// One definition of each kind, which must always be listed.
pub fn control_definitions() -> Vec<(Kind, Value)> {
    vec![
        (
            Kind::Tool,
            json!({ "name": "control", "inputSchema": { "type": "object" } }),
        ),
        (Kind::Prompt, json!({ "name": "control" })),
        (
            Kind::Resource,
            json!({ "uri": "control:it", "name": "control" }),
        ),
        (
            Kind::ResourceTemplate,
            json!({ "uriTemplate": "control://{id}", "name": "control" }),
        ),
    ]
}

/// Registers definitions in messages of a usual size, and returns the indices of those that are
/// refused, with the reasons.
pub async fn register_strict_set(page: &mut Page, set: &[StrictCase]) -> Vec<(usize, String)> {
    const CASES_PER_MESSAGE: usize = 200;
    let mut refusals = Vec::new();
    for (message, cases) in set.chunks(CASES_PER_MESSAGE).enumerate() {
        let items: Vec<_> = cases
            .iter()
            .map(|case| (case.kind, case.definition.clone()))
            .collect();
        let registered = page.register_items(&items).await;
        let errors = registered.errors.into_iter();
        refusals.extend(errors.map(|error| {
            let index = message * CASES_PER_MESSAGE + error.index;
            (index, error.message)
        }));
    }
    refusals
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Adds a tool with these keywords in a place of its schemas.
fn add_tool(set: &mut Vec<StrictCase>, place: &str, keywords: &Value, case: String) {
    let mut definition = plain_definition(Kind::Tool, set.len());
    for side in ["inputSchema", "outputSchema"] {
        definition[side] = json!({
            "type": "object",
            "properties": {
                "x": {},
                "list": { "type": "array", "items": {} },
                "d": { "$ref": "#/$defs/d" },
            },
            "$defs": { "d": {} },
        });
    }
    let target = definition.pointer_mut(place).unwrap();
    match (target.as_object_mut(), keywords.as_object()) {
        (Some(target), Some(keywords)) => target.extend(keywords.clone()),
        _ => *target = keywords.clone(),
    }
    add(set, Kind::Tool, definition, case);
}

fn plain_definition(kind: Kind, index: usize) -> Value {
    match kind {
        Kind::Tool => json!({ "name": format!("case-{index:04}") }),
        Kind::Prompt => json!({ "name": format!("case-{index:04}") }),
        Kind::Resource => json!({ "uri": format!("case:{index:04}"), "name": "n" }),
        Kind::ResourceTemplate => {
            json!({ "uriTemplate": format!("case-{index:04}://{{id}}"), "name": "n" })
        }
    }
}

fn add(set: &mut Vec<StrictCase>, kind: Kind, mut definition: Value, case: String) {
    if definition.get("description").is_none() {
        definition["description"] = json!(case);
    }
    set.push(StrictCase {
        kind,
        case,
        definition,
    });
}
