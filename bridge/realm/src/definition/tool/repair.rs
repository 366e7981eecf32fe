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
//! | `oneOf`, `anyOf`, `allOf`, `not`, `enum` at the root of an input schema | for clients of revisions before 2026-07-28: removed, with their properties moved to `properties` and the rules added to `description` | as registered | Claude's and OpenAI's services refuse the request; from 2026-07-28 on any 2020-12 schema is allowed |
//! | invisible characters in `title` and `description`, also of schemas | without them | same | they carry instructions that no person has read |
//! | a `pattern` with look-around or back-references | as registered | without that pattern | no linear-time engine supports it; the page can still check it |
//!
//! `definitions` is unchanged, because references into it work. These are refused: references into
//! a place that a repair moves, for example `#/items/0`; other dialects; what 2020-12's meta-schema
//! refuses; a root of another type; names of top-level arguments outside `^[a-zA-Z0-9_.-]{1,64}$`
//! (Claude's service refuses every request with such a tool); and remote references.

mod client_quirks;
mod root_unions;

use serde_json::Value;

pub(super) use root_unions::without_unions;

/// Repairs what only clients refuse. The result is published but not used for validation.
pub(super) fn apply_client_quirks(mut schema: Value) -> Result<Value, String> {
    client_quirks::add_missing_items(&mut schema);
    client_quirks::check_argument_names(&schema)?;
    Ok(schema)
}
