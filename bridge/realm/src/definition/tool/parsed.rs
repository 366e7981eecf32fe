//! The parsed form of a definition: what clients see of a tool, and the validators of its calls.

use std::sync::OnceLock;

use bridge_protocol::invisible::without_invisible;
use bridge_protocol::{ErrorCode, limits};
use bridge_schema::{Validator, dialect};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::keys::{APP_SESSION_ARGUMENT, ORIGINAL_NAME_KEY, SESSION_ARGUMENT};
use super::listing_cache::ListingCache;
use super::{annotations, fields, repair};
use crate::definition::invisible;
use crate::definition::reserved::is_builtin_tool;

/// The parsed form of a tool definition.
#[derive(Debug)]
pub(super) struct ParsedTool {
    /// The name as registered.
    pub(super) name: String,
    /// The name that clients see; it matches `^[a-zA-Z0-9_-]{1,64}$`.
    pub(super) published_name: String,
    /// The whole MCP tool object as clients list it.
    pub(super) published: Map<String, Value>,
    /// The published input schema for clients that refuse unions at its root, if it has any.
    pub(super) legacy_input_schema: Option<Value>,
    /// Whether the tool's own schema defines `session_id`.
    pub(super) has_own_session_argument: bool,
    pub(super) input_validator: Validator,
    pub(super) output_validator: Option<Validator>,
    /// The maximum number of characters of its results, if the definition declares one.
    pub(super) max_text_chars: Option<usize>,
    /// The encoded list entries for modern and for legacy clients, encoded on first use.
    pub(super) list_entries: [OnceLock<Option<Box<str>>>; 2],
    pub(super) listing_cache: ListingCache,
}

impl ParsedTool {
    /// The cell of the encoded list entry for such a client.
    pub(super) fn list_entry_cell(&self, modern: bool) -> &OnceLock<Option<Box<str>>> {
        let [listed, plainly] = &self.list_entries;
        if modern || self.legacy_input_schema.is_none() {
            listed
        } else {
            plainly
        }
    }

    /// Parses and checks a definition. Equal texts always give equal results.
    pub(super) fn parse(raw: &str) -> Result<Self, (ErrorCode, String)> {
        let invalid = |message: &str| (ErrorCode::DefinitionInvalid, message.to_owned());
        let mut published: Map<String, Value> =
            serde_json::from_str(raw).map_err(|_| invalid("a tool must be an object"))?;
        let name = published
            .get("name")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                (
                    ErrorCode::ToolNameRequired,
                    "a tool needs a `name`: a non-empty string".to_owned(),
                )
            })?
            .to_owned();
        if is_builtin_tool(&name) {
            let message = format!("`{name}` is a tool of the bridge itself: choose another name");
            return Err((ErrorCode::ToolNameReserved, message));
        }
        fields::check_fields(&mut published).map_err(|error| invalid(&error))?;
        invisible::clean_texts(&mut published);
        let schema_error = |key: &str, error: String| invalid(&format!("`{key}`: {error}"));
        let input = dialect::to_2020_12(published.get("inputSchema"))
            .and_then(Validator::new)
            .map_err(|error| schema_error("inputSchema", error))?;
        let output = published
            .get("outputSchema")
            .map(|schema| dialect::to_2020_12(Some(schema)).and_then(Validator::new))
            .transpose()
            .map_err(|error| schema_error("outputSchema", error))?;
        let has_property = |name: &str| {
            let properties = input.schema().pointer("/properties");
            properties.is_some_and(|properties| properties.get(name).is_some())
        };
        let has_own_session_argument = has_property(SESSION_ARGUMENT);
        let has_app_session_argument = has_property(APP_SESSION_ARGUMENT);
        let published_name = publishable_name(&name);
        if published_name != name {
            add_original_name(&mut published, &name, &published_name);
        }
        let mut schema = repair::apply_client_quirks(input.schema().clone())
            .map_err(|error| schema_error("inputSchema", error))?;
        if !has_own_session_argument && !has_app_session_argument {
            add_session_argument(&mut schema);
        }
        let plain_input = repair::without_unions(&schema);
        let text_chars = annotations::max_text_chars(&published);
        published.insert("inputSchema".to_owned(), schema);
        if let Some(output) = &output {
            published.insert("outputSchema".to_owned(), output.schema().clone());
        }
        Ok(Self {
            name,
            published_name,
            published,
            legacy_input_schema: plain_input,
            has_own_session_argument,
            input_validator: input,
            output_validator: output,
            max_text_chars: text_chars,
            list_entries: Default::default(),
            listing_cache: ListingCache::default(),
        })
    }
}

fn add_session_argument(schema: &mut Value) {
    let Some(root) = schema.as_object_mut() else {
        return;
    };
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            SESSION_ARGUMENT.to_owned(),
            json!({
                "type": "string",
                "description": "Which page to use, if several are open; see list_active_sessions"
            }),
        );
    }
}

/// A name that every client accepts: the name itself, or a repaired one with a hash suffix.
fn publishable_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= limits::MAX_TOOL_NAME_CHARS && name.chars().all(fits) {
        return name.to_owned();
    }
    let hash: [u8; 32] = Sha256::digest(name).into();
    let suffix = format!(
        "_{:02x}{:02x}{:02x}{:02x}",
        hash[0], hash[1], hash[2], hash[3]
    );
    let room = limits::MAX_TOOL_NAME_CHARS - suffix.len();
    let stem: String = name
        .chars()
        .take(room)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    stem + &suffix
}

fn add_original_name(published: &mut Map<String, Value>, name: &str, published_name: &str) {
    published.insert("name".to_owned(), json!(published_name));
    published
        .entry("title")
        .or_insert_with(|| json!(without_invisible(name)));
    let meta = published.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(ORIGINAL_NAME_KEY.to_owned(), json!(name));
    }
}
