//! Compiles schemas with the `jsonschema` crate.

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

/// The maximum size of the automaton of one pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The maximum size of the cache of one pattern for each thread, in bytes.
const MAX_PATTERN_CACHE_BYTES: usize = 64 * 1024;

/// Compiles a schema. The error does not repeat the keyword's value, but may be long.
pub(crate) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_CACHE_BYTES);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| error.masked_with("the keyword's value").to_string())
}
