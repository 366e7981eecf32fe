//! Repairs valid schemas that a strict reader of a list refuses, and with them the list.
//!
//! The strictest one is the TypeScript SDK: from 1.22 on it requires an object for each property,
//! and compiles each output schema with Ajv and its vocabulary of draft-07 while it reads the list.

use serde_json::{Map, Value, json};

use bridge_schema::subschemas::META_SCHEMA_PREFIX;
use bridge_schema::unicode_pattern::to_unicode_mode;
use bridge_schema::walk;

/// Keywords whose value is often a boolean, and which all readers accept as one.
const BOOLEAN_KEYWORDS: [&str; 5] = [
    "additionalItems",
    "additionalProperties",
    "items",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Whether Ajv accepts the value of a keyword.
type IsAccepted = fn(&Value) -> bool;

/// Keywords without a meaning in 2020-12. Ajv throws for values that it does not accept.
const FOREIGN_KEYWORDS: [(&str, IsAccepted); 9] = [
    ("id", |_| false),
    ("nullable", |_| false),
    ("$async", |_| false),
    ("formatMinimum", |_| false),
    ("formatMaximum", |_| false),
    ("formatExclusiveMinimum", |_| false),
    ("formatExclusiveMaximum", |_| false),
    ("additionalItems", |value| {
        value.is_object() || value.is_boolean()
    }),
    ("dependencies", Value::is_object),
];

/// The name that assigns the prototype of an object in JavaScript. A reader that copies properties
/// loses it, or fails.
const PROTOTYPE: &str = "__proto__";

/// Repairs every subschema. The error is the reason why the schema cannot be published.
pub(super) fn repair(schema: &mut Value) -> Result<(), String> {
    let mut result = Ok(());
    walk::for_each_subschema(schema, &mut |fields| {
        if result.is_ok() {
            result = repair_subschema(fields);
        }
    });
    result
}

fn repair_subschema(fields: &mut Map<String, Value>) -> Result<(), String> {
    if let Some(Value::Object(properties)) = fields.get("properties")
        && properties.contains_key(PROTOTYPE)
    {
        return Err(format!(
            "clients in JavaScript cannot pass a property with the name `{PROTOTYPE}`: choose \
             another name"
        ));
    }
    fields.retain(|keyword, value| {
        let foreign = FOREIGN_KEYWORDS.iter().find(|(name, _)| name == keyword);
        foreign.is_none_or(|(_, is_accepted)| is_accepted(value))
    });
    // Only the bridge knows the meta-schemas.
    let is_meta_schema = |reference: &Value| {
        let address = reference.as_str();
        address.is_some_and(|address| address.starts_with(META_SCHEMA_PREFIX))
    };
    if fields.get("$ref").is_some_and(is_meta_schema) {
        fields.shift_remove("$ref");
    }
    if fields.get("enum") == Some(&json!([])) {
        fields.shift_remove("enum");
        fields.insert("not".to_owned(), json!({}));
    }
    walk::for_each_direct_subschema(fields, &mut |keyword, inner| match inner {
        Value::Bool(_) if BOOLEAN_KEYWORDS.contains(&keyword) => {}
        Value::Bool(true) => *inner = json!({}),
        Value::Bool(false) => *inner = json!({ "not": {} }),
        _ => {}
    });
    Ok(())
}

/// Rewrites the patterns of an output schema as Ajv compiles them: with JavaScript's flag `u`. A
/// `pattern` that may not be valid then is removed. Returns false if the schema cannot be published,
/// because it has such a pattern for names.
pub(super) fn repair_patterns(schema: &mut Value) -> bool {
    let mut is_valid = true;
    walk::for_each_subschema(schema, &mut |fields| {
        if let Some(Value::String(pattern)) = fields.get_mut("pattern") {
            match to_unicode_mode(pattern) {
                Some(repaired) => *pattern = repaired,
                None => {
                    fields.shift_remove("pattern");
                }
            }
        }
        if let Some(Value::Object(named)) = fields.get_mut("patternProperties") {
            for (pattern, schema) in std::mem::take(named) {
                match to_unicode_mode(&pattern) {
                    Some(repaired) => {
                        named.insert(repaired, schema);
                    }
                    None => is_valid = false,
                }
            }
        }
    });
    is_valid
}

/// Removes the identifiers of an output schema. Ajv stores those of all tools in one place, and
/// throws for the second use of one. Returns false if references depend on them: then the schema
/// cannot be published.
pub(super) fn remove_ids(schema: &mut Value) -> bool {
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("$id");
    }
    let mut is_local = true;
    walk::for_each_subschema(schema, &mut |fields| {
        let reference = fields.get("$ref").and_then(Value::as_str);
        is_local &= reference.is_none_or(|reference| reference.starts_with('#'));
        is_local &= !fields.contains_key("$id");
        // The dynamic anchor is an anchor as well.
        if fields
            .get("$anchor")
            .is_some_and(|it| fields.get("$dynamicAnchor") == Some(it))
        {
            fields.shift_remove("$anchor");
        }
    });
    is_local
}

/// An output schema for readers that accept fewer keywords at its root, or `None` if it has no
/// others.
///
/// The TypeScript SDK 1.22 accepts only a boolean as `additionalProperties`. It drops definitions
/// there, and then throws for each reference to them. All its versions 1 validate results as draft-07
/// does.
pub(in crate::definition::tool) fn plain_output(schema: &Value) -> Option<Value> {
    let mut plain = schema.clone();
    let root = plain.as_object_mut()?;
    let has_moved = move_additional_properties(root) | move_definitions(root);
    let has_changed = has_moved | remove_draft_07_rules(&mut plain);
    has_changed.then_some(plain)
}

/// Removes keywords with which Ajv refuses results that are valid: in draft-07, `items` applies to
/// each item and `contains` to at least one, and Ajv divides fractions without rounding.
fn remove_draft_07_rules(schema: &mut Value) -> bool {
    let mut has_changed = false;
    walk::for_each_subschema(schema, &mut |fields| {
        let keywords = fields.len();
        let tuple = fields.get("prefixItems").and_then(Value::as_array);
        if let Some(length) = tuple.map(|tuple| tuple.len() as u64)
            && let Some(items) = fields.shift_remove("items")
        {
            has_changed = true;
            if items == json!(false) {
                let max = fields.get("maxItems").and_then(Value::as_u64);
                fields.insert(
                    "maxItems".to_owned(),
                    json!(length.min(max.unwrap_or(length))),
                );
            }
        }
        if fields.get("minContains") == Some(&json!(0)) {
            fields.shift_remove("contains");
        }
        let step = fields.get("multipleOf").and_then(Value::as_f64);
        if step.is_some_and(|step| step.fract() != 0.0) {
            fields.shift_remove("multipleOf");
        }
        has_changed |= fields.len() != keywords;
    });
    has_changed
}

/// Moves the schema of additional properties into a branch of `allOf`.
fn move_additional_properties(root: &mut Map<String, Value>) -> bool {
    let additional = match root.get_mut("additionalProperties") {
        Some(Value::Object(additional)) => Value::Object(std::mem::take(additional)),
        _ => return false,
    };
    root.shift_remove("additionalProperties");
    // The names and patterns that it does not apply to.
    let mut branch = Map::new();
    for keyword in ["properties", "patternProperties"] {
        if let Some(Value::Object(named)) = root.get(keyword) {
            let names = named.keys().map(|name| (name.clone(), json!({})));
            branch.insert(keyword.to_owned(), Value::Object(names.collect()));
        }
    }
    branch.insert("additionalProperties".to_owned(), additional);
    let branches = root.entry("allOf").or_insert_with(|| json!([]));
    if let Value::Array(branches) = branches {
        branches.push(Value::Object(branch));
    }
    true
}

/// Moves definitions into the first property, and removes references to other places than
/// properties.
fn move_definitions(root: &mut Map<String, Value>) -> bool {
    let mut moved = Vec::new();
    for keyword in ["$defs", "definitions"] {
        let properties = root.get("properties").and_then(Value::as_object);
        let Some((name, first)) = properties.and_then(|it| it.iter().next()) else {
            return false;
        };
        if !root.contains_key(keyword) || first.get(keyword).is_some() {
            continue;
        }
        let name = name.replace('~', "~0").replace('/', "~1");
        moved.push((
            format!("#/{keyword}/"),
            format!("#/properties/{name}/{keyword}/"),
        ));
        let definitions = root.shift_remove(keyword);
        let first = root.get_mut("properties").and_then(Value::as_object_mut);
        let first = first
            .and_then(|it| it.values_mut().next())
            .and_then(Value::as_object_mut);
        if let (Some(first), Some(definitions)) = (first, definitions) {
            first.insert(keyword.to_owned(), definitions);
        }
    }
    let mut has_changed = !moved.is_empty();
    let mut schema = Value::Object(std::mem::take(root));
    walk::for_each_subschema(&mut schema, &mut |fields| {
        let Some(Value::String(reference)) = fields.get_mut("$ref") else {
            return;
        };
        let target = moved.iter().find_map(|(from, to)| {
            let rest = reference.strip_prefix(from.as_str())?;
            Some(format!("{to}{rest}"))
        });
        if let Some(target) = target {
            *reference = target;
        } else if reference.starts_with("#/") && !reference.starts_with("#/properties/") {
            fields.shift_remove("$ref");
            has_changed = true;
        }
    });
    if let Value::Object(fields) = schema {
        *root = fields;
    }
    has_changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(mut schema: Value) -> Result<Value, String> {
        repair(&mut schema)?;
        Ok(schema)
    }

    #[test]
    fn boolean_schemas_become_objects_where_readers_require_them() {
        let schema = json!({"type": "object", "properties": {"a": true, "b": false,
            "c": {"anyOf": [true, {"not": false}], "contains": true, "items": false}},
            "patternProperties": {"^x": true}, "$defs": {"d": false},
            "additionalProperties": false, "unevaluatedProperties": true,
            "default": {"properties": {"a": true}}, "const": true});
        let expected = json!({"type": "object", "properties": {"a": {}, "b": {"not": {}},
            "c": {"anyOf": [{}, {"not": {"not": {}}}], "contains": {}, "items": false}},
            "patternProperties": {"^x": {}}, "$defs": {"d": {"not": {}}},
            "additionalProperties": false, "unevaluatedProperties": true,
            "default": {"properties": {"a": true}}, "const": true});
        assert_eq!(repaired(schema).unwrap().to_string(), expected.to_string());
    }

    #[test]
    fn keywords_that_readers_refuse_are_removed_or_replaced() {
        let meta = "https://json-schema.org/draft/2020-12/schema";
        for (inner, expected) in [
            (
                json!({"id": "x", "type": "string"}),
                json!({"type": "string"}),
            ),
            (json!({"id": 7}), json!({})),
            (
                json!({"anyOf": [{}], "nullable": true}),
                json!({"anyOf": [{}]}),
            ),
            (
                json!({"type": ["string", "null"], "nullable": "no"}),
                json!({"type": ["string", "null"]}),
            ),
            (json!({"$async": true}), json!({})),
            (
                json!({"formatMinimum": "a", "formatExclusiveMaximum": 7}),
                json!({}),
            ),
            (json!({"additionalItems": 7, "dependencies": 7}), json!({})),
            (
                json!({"additionalItems": false, "dependencies": {"a": {}}}),
                json!({"additionalItems": false, "dependencies": {"a": {}}}),
            ),
            (
                json!({"enum": [], "title": "t"}),
                json!({"title": "t", "not": {}}),
            ),
            (json!({"$ref": meta, "title": "t"}), json!({"title": "t"})),
            // These are names, not keywords.
            (
                json!({"properties": {"id": {}, "nullable": {}, "enum": {}}}),
                json!({"properties": {"id": {}, "nullable": {}, "enum": {}}}),
            ),
        ] {
            let schema = |inner| json!({"type": "object", "properties": {"x": inner}});
            let found = repaired(schema(inner)).unwrap();
            assert_eq!(found.to_string(), schema(expected).to_string());
        }
    }

    #[test]
    fn names_that_readers_cannot_carry_are_refused() {
        for (schema, why) in [
            (json!({"properties": {"__proto__": {}}}), "`__proto__`"),
            (
                json!({"properties": {"a": {"properties": {"__proto__": {}}}}}),
                "`__proto__`",
            ),
        ] {
            let error = repaired(schema).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn patterns_are_rewritten_for_ajv_or_removed() {
        for (inner, expected) in [
            (
                json!({"pattern": "^\\-[\\w-.]\\_"}),
                Some(json!({"pattern": "^-[\\w\\-.]_"})),
            ),
            (
                json!({"pattern": "(?i)a", "title": "t"}),
                Some(json!({"title": "t"})),
            ),
            (
                json!({"patternProperties": {"a": {}, "\\@": {}}}),
                Some(json!({"patternProperties": {"a": {}, "@": {}}})),
            ),
            (json!({"patternProperties": {"(?i)^x-": {}}}), None),
            (
                json!({"patternProperties": {"\\p{Script=Thaana}": {}}}),
                None,
            ),
        ] {
            let schema = |inner| json!({"type": "object", "properties": {"x": inner}});
            let mut found = schema(inner);
            // Only readers of output schemas compile them.
            assert_eq!(repaired(found.clone()), Ok(found.clone()));
            let is_valid = repair_patterns(&mut found);
            assert_eq!(is_valid.then_some(found), expected.map(schema));
        }
    }

    #[test]
    fn identifiers_are_removed_unless_references_depend_on_them() {
        for (schema, expected) in [
            (
                json!({"$id": "https://example.com/a", "properties": {"a": {"$ref": "#/$defs/b"}}}),
                Some(json!({"properties": {"a": {"$ref": "#/$defs/b"}}})),
            ),
            (
                json!({"properties": {"a": {"$anchor": "a", "$dynamicAnchor": "a"}, "$id": {}}}),
                Some(json!({"properties": {"a": {"$dynamicAnchor": "a"}, "$id": {}}})),
            ),
            (json!({"$defs": {"a": {"$id": "a"}}}), None),
            (
                json!({"$id": "https://example.com/a", "items": {"$ref": "a"}}),
                None,
            ),
        ] {
            let mut stripped = schema.clone();
            let is_local = remove_ids(&mut stripped);
            assert_eq!(is_local.then_some(stripped), expected, "{schema}");
        }
    }

    #[test]
    fn the_root_of_a_plain_output_schema_has_the_keywords_that_each_reader_knows() {
        let number = json!({"type": "number"});
        let reference = |place: &str| json!({"$ref": place});
        for (schema, expected) in [
            (
                json!({"type": "object", "additionalProperties": number}),
                Some(json!({"type": "object", "allOf": [{"additionalProperties": number}]})),
            ),
            (
                json!({"properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {}},
                "additionalProperties": number, "allOf": [{}]}),
                Some(
                    json!({"properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {}},
                "allOf": [{}, {"properties": {"a": {}}, "patternProperties": {"^x": {}},
                    "additionalProperties": number}]}),
                ),
            ),
            (
                json!({"properties": {"a/b~": reference("#/$defs/c"), "b": reference("#/definitions/d")},
                "$defs": {"c": {"items": reference("#/$defs/c")}}, "definitions": {"d": {}}}),
                Some(json!({"properties": {
                "a/b~": {"$ref": "#/properties/a~1b~0/$defs/c",
                    "$defs": {"c": {"items": reference("#/properties/a~1b~0/$defs/c")}},
                    "definitions": {"d": {}}},
                "b": reference("#/properties/a~1b~0/definitions/d")}})),
            ),
            (
                json!({"properties": {"a": reference("#/allOf/0")}, "allOf": [{}]}),
                Some(json!({"properties": {"a": {}}, "allOf": [{}]})),
            ),
            (
                json!({"properties": {"a": reference("#/properties/b"), "b": reference("#")}}),
                None,
            ),
            (
                json!({"additionalProperties": false, "properties": {}}),
                None,
            ),
            (
                json!({"$defs": {"a": {}}, "allOf": [reference("#/$defs/a")]}),
                None,
            ),
        ] {
            assert_eq!(plain_output(&schema), expected, "{schema}");
        }
    }
}
