//! Repairs the schemas of pages so that every client accepts the list.
//!
//! Several clients lose all tools of a server because of one definition that they, or the model
//! service behind them, refuse. A valid schema is left unchanged, including its key order and
//! unknown keywords. A schema that cannot be repaired is refused with the reason; the other tools
//! are listed.
//!
//! | found | published | validated | why |
//! |---|---|---|---|
//! | no schema, or a root without `type` | `type: "object"` at the root | same | MCP, "Tools"; the TypeScript SDK drops the whole list otherwise |
//! | an older `$schema` of json-schema.org | 2020-12's | same | clients of 2020-12 refuse other dialects |
//! | `items: […]`, `additionalItems` | `prefixItems`, `items` | same | not valid in 2020-12: model services answer 400 |
//! | `dependencies` | `dependentRequired`, `dependentSchemas` | same | gone since 2019-09 |
//! | `exclusiveMinimum: true` and `exclusiveMaximum: true` | the number itself | same | draft-04; not valid in 2020-12 |
//! | `id`; `$id: "#name"` | `$id`; `$anchor: "name"` | same | draft-04; draft-06 and 07 |
//! | siblings of `$ref` in draft-04 to 07 | annotations and definitions only | same | those drafts ignore them |
//! | `$recursiveRef`, `$recursiveAnchor` | `$dynamicRef`, `$dynamicAnchor` | same | 2019-09 |
//! | `nullable: true` beside `type` | `"null"` among the types (and in `enum`) | same: **`null` becomes acceptable** | OpenAPI 3.0; it has no meaning in JSON Schema |
//! | an array without `items` | `items: {}` | as registered | VS Code refuses the tool |
//! | `oneOf`, `anyOf`, `allOf`, `not`, `enum` at the root of an input schema | removed, with their properties moved to `properties` and the rules added to `description`, except for clients that are known to accept them | as registered | Claude's and OpenAI's services refuse the request, and clients pass schemas on to them |
//! | `true` and `false` as the schema of a property, branch or definition | `{}` and `{"not": {}}` | as registered | the TypeScript SDK from 1.22 on drops the whole list |
//! | `id`, `nullable` without `type`, `enum: []`, a `$ref` to a meta-schema, other leftovers in the table of [`strict_readers`] | without it, or its equivalent | as registered | the same, for output schemas |
//! | a pattern in an output schema that may not be valid with JavaScript's flag `u` | rewritten, or without it; if it is one of `patternProperties`: no output schema | as registered | the same |
//! | `$id` in an output schema | without it; with references to it, or below the root: no output schema | as registered | the same, if two tools have one `$id` |
//! | a schema as `additionalProperties`, and definitions, at the root of an output schema | for clients of revisions before 2026-07-28: in a branch of `allOf`, and in the first property | as registered | the TypeScript SDK 1.22 drops the whole list |
//! | `items` beside `prefixItems`, `contains` beside `minContains: 0`, a fraction as `multipleOf` in an output schema | for the same clients: without it; `items: false` becomes `maxItems` | as registered | the TypeScript SDK refuses valid results |
//! | invisible characters in `title` and `description`, also of schemas | without them | same | they carry instructions that no person has read |
//! | a `pattern` with look-around or back-references | as registered | without that pattern | no linear-time engine supports it; the page can still check it |
//!
//! `definitions` is unchanged, because references into it work. These are refused: references into
//! a place that a repair moves, for example `#/items/0`; other dialects; what 2020-12's meta-schema
//! refuses; a root of another type; names of top-level arguments outside `^[a-zA-Z0-9_.-]{1,64}$`
//! (Claude's service refuses every request with such a tool); properties with the name `__proto__`,
//! which JavaScript clients lose; and remote references.

mod client_quirks;
mod strict_readers;

use serde_json::Value;

pub(super) use strict_readers::plain_output;

/// Repairs what only clients refuse in an input schema. The result is published but not used for
/// validation.
pub(super) fn input_for_clients(mut schema: Value) -> Result<Value, String> {
    strict_readers::repair(&mut schema)?;
    client_quirks::add_missing_items(&mut schema);
    client_quirks::check_argument_names(&schema)?;
    Ok(schema)
}

/// Repairs what only clients refuse in an output schema. The result is published but not used for
/// validation. `None` if the schema cannot be published.
pub(super) fn output_for_clients(mut schema: Value) -> Result<Option<Value>, String> {
    strict_readers::repair(&mut schema)?;
    let is_published =
        strict_readers::remove_ids(&mut schema) && strict_readers::repair_patterns(&mut schema);
    Ok(is_published.then_some(schema))
}
