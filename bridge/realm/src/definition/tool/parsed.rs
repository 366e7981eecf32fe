//! The parsed form of a definition: what clients see of a tool, and the validators of its calls.

use std::sync::OnceLock;

use bridge_protocol::ErrorCode;
use bridge_schema::root_unions::without_root_unions;
use bridge_schema::{Validator, dialect};
use serde_json::{Map, Value, json};

use super::listing_cache::ListingCache;
use super::published_name::{published_name, set_repaired_name};
use super::schema_support::SchemaSupport;
use super::{annotations, repair};
use crate::definition::invisible;
use crate::definition::mcp_fields::{self, repair_fields};
use crate::definition::reserved::is_builtin_tool;

/// The optional argument that selects a session, added to every input schema without
/// [`APP_SESSION_ARGUMENT`].
pub const SESSION_ARGUMENT: &str = "session_id";

/// The argument of an app that has its own sessions. [`SESSION_ARGUMENT`] is not published next to
/// it: a model would confuse the two.
const APP_SESSION_ARGUMENT: &str = "sessionId";

/// The parsed form of a tool definition.
#[derive(Debug)]
pub(super) struct ParsedTool {
    /// The name as registered.
    pub(super) name: String,
    /// The name that clients see.
    pub(super) published_name: String,
    /// The whole MCP tool object as clients list it.
    pub(super) published: Map<String, Value>,
    /// The published input schema without unions at its root, if it has any.
    plain_input_schema: Option<Value>,
    /// The published output schema for clients that accept fewer keywords at its root, if it has
    /// others.
    legacy_output_schema: Option<Value>,
    /// Whether the tool's own schema defines `session_id`.
    pub(super) has_own_session_argument: bool,
    pub(super) input_validator: Validator,
    pub(super) output_validator: Option<Validator>,
    /// The maximum number of characters of its results, if the definition declares one.
    pub(super) max_text_chars: Option<usize>,
    /// The encoded list entries: with all schemas as published, with a plain input schema, with a
    /// legacy output schema, and with both. Encoded on first use.
    list_entries: [OnceLock<Option<Box<str>>>; 4],
    pub(super) listing_cache: ListingCache,
}

impl ParsedTool {
    /// The cell of the encoded list entry for such a client.
    pub(super) fn list_entry_cell(&self, support: SchemaSupport) -> &OnceLock<Option<Box<str>>> {
        let [full, plain_input, legacy_output, both] = &self.list_entries;
        match self
            .schemas_for(support)
            .map(|(_, schema)| schema.is_some())
        {
            [false, false] => full,
            [true, false] => plain_input,
            [false, true] => legacy_output,
            [true, true] => both,
        }
    }

    /// The schemas that differ from the published ones for such a client, with their fields.
    pub(super) fn schemas_for(&self, support: SchemaSupport) -> [(&str, Option<&Value>); 2] {
        let input = self.plain_input_schema.as_ref();
        let output = self.legacy_output_schema.as_ref();
        [
            ("inputSchema", input.filter(|_| !support.root_unions)),
            ("outputSchema", output.filter(|_| !support.output_keywords)),
        ]
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
        repair_fields(&mut published, mcp_fields::TOOL).map_err(|error| invalid(&error))?;
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
        let published_name = published_name(&name).into_owned();
        if published_name != name {
            set_repaired_name(&mut published, &name, &published_name);
        }
        let mut schema = repair::input_for_clients(input.schema().clone())
            .map_err(|error| schema_error("inputSchema", error))?;
        if !has_own_session_argument && !has_app_session_argument {
            add_session_argument(&mut schema);
        }
        let plain_input = without_root_unions(&schema);
        let text_chars = annotations::max_text_chars(&published);
        published.insert("inputSchema".to_owned(), schema);
        let output_schema = output
            .as_ref()
            .map(|output| repair::output_for_clients(output.schema().clone()))
            .transpose()
            .map_err(|error| schema_error("outputSchema", error))?
            .flatten();
        let plain_output = output_schema.as_ref().and_then(repair::plain_output);
        match output_schema {
            Some(schema) => published.insert("outputSchema".to_owned(), schema),
            None => published.shift_remove("outputSchema"),
        };
        Ok(Self {
            name,
            published_name,
            published,
            plain_input_schema: plain_input,
            legacy_output_schema: plain_output,
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
