//! A tool definition: as the page wrote it, and as clients see it.

mod fields;
pub(crate) mod repair;
#[cfg(test)]
mod round_trip;
mod time;

/// Shared with the tests at the door.
#[cfg(test)]
#[path = "../tests/door/any_definition.rs"]
mod any_definition;

use std::time::Duration;

use bridge_protocol::{ErrorCode, limits};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::meta_tools;
use crate::schema::Validator;

/// The optional argument that picks a session, added to every input schema.
pub(crate) const SESSION_ARGUMENT: &str = "session_id";

/// The key in a tool's `_meta` that keeps a name which had to be repaired.
const ORIGINAL_NAME: &str = "mcp-web/originalName";

/// One definition. Equal definitions are one allocation, see [`Tools`].
#[derive(Debug)]
pub(crate) struct Tool {
    /// As registered.
    pub(crate) name: String,
    /// As listed: `^[a-zA-Z0-9_-]{1,64}$`.
    pub(crate) published_name: String,
    /// The whole MCP tool object as listed.
    pub(crate) published: Map<String, Value>,
    /// The size of the definition as registered, in bytes.
    pub(crate) bytes: usize,
    /// Of the definition as registered.
    pub(crate) hash: [u8; 32],
    /// How long a call may take, if the definition says so: in place of `call_timeout`.
    pub(crate) timeout: Option<Duration>,
    /// The tool's own schema has a `session_id`: it is an argument like any other.
    has_own_session_argument: bool,
    /// The published input schema for clients that refuse unions at its root, if it has some.
    plain_input: Option<Value>,
    input: Validator,
    output: Option<Validator>,
}

impl Tool {
    pub(crate) fn parse(raw: &RawValue) -> Result<Self, (ErrorCode, String)> {
        let invalid = |message: &str| (ErrorCode::DefinitionInvalid, message.to_owned());
        let mut published: Map<String, Value> =
            serde_json::from_str(raw.get()).map_err(|_| invalid("a tool must be an object"))?;
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
        if meta_tools::is_one(&name) {
            let message = format!("`{name}` is a tool of the bridge itself: choose another name");
            return Err((ErrorCode::ToolNameReserved, message));
        }
        fields::check(&mut published).map_err(|error| invalid(&error))?;
        let timeout = time::timeout(&published).map_err(|error| invalid(&error))?;
        let of = |key: &str, error: String| invalid(&format!("`{key}`: {error}"));
        let input = repair::modern(published.get("inputSchema"))
            .and_then(Validator::new)
            .map_err(|error| of("inputSchema", error))?;
        let output = published
            .get("outputSchema")
            .map(|schema| repair::modern(Some(schema)).and_then(Validator::new))
            .transpose()
            .map_err(|error| of("outputSchema", error))?;
        let has_own_session_argument = input
            .schema()
            .pointer("/properties")
            .is_some_and(|properties| properties.get(SESSION_ARGUMENT).is_some());
        let published_name = publishable(&name);
        if published_name != name {
            keep_original_name(&mut published, &name, &published_name);
        }
        let mut schema = repair::for_clients(input.schema().clone())
            .map_err(|error| of("inputSchema", error))?;
        if !has_own_session_argument {
            add_session_argument(&mut schema);
        }
        let plain_input = repair::without_unions(&schema);
        published.insert("inputSchema".to_owned(), schema);
        if let Some(output) = &output {
            published.insert("outputSchema".to_owned(), output.schema().clone());
        }
        Ok(Self {
            published_name,
            published,
            bytes: raw.get().len(),
            hash: Sha256::digest(raw.get()).into(),
            timeout,
            has_own_session_argument,
            plain_input,
            input,
            output,
            name,
        })
    }

    /// The tool object for clients of revisions before 2026-07-28, where it is another one: with
    /// an input schema that has no unions at its root.
    pub(crate) fn published_plainly(&self) -> Option<Map<String, Value>> {
        let schema = self.plain_input.clone()?;
        let mut plain = self.published.clone();
        plain.insert("inputSchema".to_owned(), schema);
        Some(plain)
    }

    /// Takes the argument that picks a session out of the arguments, unless it is the tool's own.
    pub(crate) fn take_session_argument(
        &self,
        arguments: &mut Map<String, Value>,
    ) -> Option<String> {
        if self.has_own_session_argument {
            return None;
        }
        match arguments.shift_remove(SESSION_ARGUMENT)? {
            Value::String(session) => Some(session),
            _ => None,
        }
    }

    pub(crate) fn has_own_session_argument(&self) -> bool {
        self.has_own_session_argument
    }

    pub(crate) fn input(&self) -> &Validator {
        &self.input
    }

    pub(crate) fn output(&self) -> Option<&Validator> {
        self.output.as_ref()
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
fn publishable(name: &str) -> String {
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

/// Whether [`publishable`] could have made this name of another one.
pub(crate) fn looks_repaired(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, suffix)| {
        suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn keep_original_name(published: &mut Map<String, Value>, name: &str, published_name: &str) {
    published.insert("name".to_owned(), json!(published_name));
    published.entry("title").or_insert_with(|| json!(name));
    let meta = published.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(ORIGINAL_NAME.to_owned(), json!(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(definition: Value) -> Result<Tool, (ErrorCode, String)> {
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        Tool::parse(&raw)
    }

    #[test]
    fn a_definition_is_published_verbatim_but_for_the_session_argument() {
        let definition = json!({
            "name": "add", "title": "Add", "description": "Adds", "annotations": {"readOnlyHint": true},
            "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "additionalProperties": false, "properties": {"z": {"type": "number"}}, "required": ["z"]},
            "outputSchema": {"type": "object"}, "_meta": {"b": 1, "a": 2}
        });
        let tool = parse(definition.clone()).unwrap();
        let mut published = Value::Object(tool.published.clone());
        let properties = published.pointer_mut("/inputSchema/properties").unwrap();
        assert!(
            properties
                .as_object_mut()
                .unwrap()
                .shift_remove("session_id")
                .is_some()
        );
        assert_eq!(published.to_string(), definition.to_string());
    }

    #[test]
    fn a_tool_keeps_its_own_session_argument() {
        let schema = json!({"type": "object", "properties": {"session_id": {"type": "integer"}}});
        let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
        assert_eq!(tool.published["inputSchema"], schema);
        let mut arguments = json!({"session_id": 7}).as_object().unwrap().clone();
        assert_eq!(tool.take_session_argument(&mut arguments), None);
        assert_eq!(arguments["session_id"], 7);
    }

    #[test]
    fn names_that_clients_refuse_are_repaired_and_told() {
        for name in ["a b", "ünïcode", &"x".repeat(65), "a/b.c"] {
            let tool = parse(json!({"name": name})).unwrap();
            assert!(tool.published_name.len() <= 64);
            assert!(
                tool.published_name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            );
            assert_eq!(tool.published["title"], name);
            assert_eq!(tool.published["_meta"][ORIGINAL_NAME], name);
        }
        let tool = parse(json!({"name": "x".repeat(64)})).unwrap();
        assert_eq!(tool.published_name, tool.name);
    }

    #[test]
    fn what_cannot_be_published_says_why() {
        let cases = [
            (json!([]), ErrorCode::DefinitionInvalid, "object"),
            (
                json!({"description": "d"}),
                ErrorCode::ToolNameRequired,
                "name",
            ),
            (json!({"name": ""}), ErrorCode::ToolNameRequired, "name"),
            (
                json!({"name": "call_session_tool"}),
                ErrorCode::ToolNameReserved,
                "another name",
            ),
            (
                json!({"name": "t", "description": 7}),
                ErrorCode::DefinitionInvalid,
                "description",
            ),
            (
                json!({"name": "t", "inputSchema": true}),
                ErrorCode::DefinitionInvalid,
                "inputSchema",
            ),
            (
                json!({"name": "t", "inputSchema": {"type": "string"}}),
                ErrorCode::DefinitionInvalid,
                "object",
            ),
            (
                json!({"name": "t", "outputSchema": {"type": "array"}}),
                ErrorCode::DefinitionInvalid,
                "outputSchema",
            ),
        ];
        for (definition, code, word) in cases {
            let (found, message) = parse(definition.clone()).unwrap_err();
            assert_eq!(found, code, "{definition}");
            assert!(message.contains(word), "{definition}: {message}");
        }
    }
}
