//! A tool definition: as the page wrote it, and as clients see it.

mod fields;
mod marks;
mod opened;
mod place;
pub(crate) mod repair;
#[cfg(test)]
mod round_trip;
mod time;

/// Shared with the tests at the door.
#[cfg(test)]
#[path = "../tests/door/any_definition.rs"]
mod any_definition;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::definition;
use crate::schema::Validator;
use crate::v1::Listings;
pub(crate) use fields::check_icons;
use opened::Opened;
use place::Place;

/// The optional argument that picks a session, added to every input schema.
pub(crate) const SESSION_ARGUMENT: &str = "session_id";

/// The key in a tool's `_meta` that keeps a name which had to be repaired.
const ORIGINAL_NAME: &str = "mcp-web/originalName";

/// One definition. Equal definitions are one allocation, see [`Definitions`].
///
/// Most tools of most pages are never asked for. So only the text is kept: what clients see, and
/// what calls are checked against, takes many times the memory, and is read when it is wanted.
///
/// [`Definitions`]: crate::definition::Definitions
#[derive(Debug)]
pub(crate) struct Tool {
    /// The definition as registered.
    raw: Box<str>,
    /// The start of the hash of that.
    pub(crate) hash: u64,
    opened: OnceLock<Box<Opened>>,
    special: Option<Box<Special>>,
    name: Place,
    /// Its handler may ask the client, unless the definition says that it never does.
    pub(crate) asks_client: bool,
    /// Somebody wanted what is in it since [`Tool::has_rested`] was asked last.
    used: AtomicBool,
}

/// What few tools have, and the others no room for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Special {
    /// The name as registered, where it does not stand in the text as it is.
    name: Option<Box<str>>,
    /// As listed, where that is another name.
    repaired_name: Option<Box<str>>,
    /// How long a call may take, if the definition says so.
    timeout: Option<Duration>,
    /// Clients repeat some of its arguments in headers.
    has_header_arguments: bool,
}

impl Tool {
    pub(crate) fn parse(raw: &RawValue) -> Result<Self, (ErrorCode, String)> {
        let opened = Opened::read(raw.get())?;
        let invalid = |error| (ErrorCode::DefinitionInvalid, error);
        let place = Place::of(&opened.name, raw.get());
        let repaired = opened.published_name != opened.name;
        let special = Special {
            name: place.is_none().then(|| opened.name.as_str().into()),
            repaired_name: repaired.then(|| opened.published_name.as_str().into()),
            timeout: time::timeout(&opened.published).map_err(invalid)?,
            has_header_arguments: marks::has_header_arguments(&opened.published),
        };
        Ok(Self {
            raw: raw.get().into(),
            hash: definition::start_of(&definition::hash_of(raw.get())),
            asks_client: marks::asks_client(&opened.published).map_err(invalid)?,
            opened: OnceLock::from(Box::new(opened)),
            special: (special != Special::default()).then(|| Box::new(special)),
            name: place.unwrap_or_default(),
            used: AtomicBool::new(false),
        })
    }

    /// The same tool, of which nothing but the text is kept.
    pub(crate) fn closed(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            hash: self.hash,
            opened: OnceLock::new(),
            special: self.special.clone(),
            name: self.name,
            asks_client: self.asks_client,
            used: AtomicBool::new(false),
        }
    }

    /// As registered.
    pub(crate) fn name(&self) -> &str {
        let special = self.special.as_ref().and_then(|it| it.name.as_deref());
        special.unwrap_or_else(|| self.name.within(&self.raw))
    }

    /// How long a call may take, if the definition says so: in place of `call_timeout`.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.special.as_ref()?.timeout
    }

    /// Clients repeat some of its arguments in headers (MCP 2026-07-28, `x-mcp-header`).
    pub(crate) fn has_header_arguments(&self) -> bool {
        let special = self.special.as_ref();
        special.is_some_and(|it| it.has_header_arguments)
    }

    /// Whether more is kept of it than its text.
    pub(crate) fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Whether it is open, and was not used since this was asked last.
    pub(crate) fn has_rested(&self) -> bool {
        !self.used.swap(false, Ordering::Relaxed) && self.is_open()
    }

    fn opened(&self) -> &Opened {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        self.opened.get_or_init(|| {
            let opened = Opened::read(&self.raw);
            Box::new(opened.expect("it could be read when it was registered"))
        })
    }

    /// As listed: `^[a-zA-Z0-9_-]{1,64}$`.
    pub(crate) fn published_name(&self) -> &str {
        let special = self.special.as_ref();
        let repaired = special.and_then(|it| it.repaired_name.as_deref());
        repaired.unwrap_or_else(|| self.name())
    }

    /// The definition as registered.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// The input schema as registered, in the page's own spelling; `{}` where it has none.
    pub(crate) fn registered_input(&self) -> &str {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Registered<'a> {
            #[serde(borrow)]
            input_schema: Option<&'a RawValue>,
        }
        let read = serde_json::from_str::<Registered<'_>>(&self.raw).ok();
        read.and_then(|it| it.input_schema)
            .map_or("{}", RawValue::get)
    }

    /// As clients of mcp-web 0.1 see it.
    pub(crate) fn v1(&self) -> &Listings {
        &self.opened().v1
    }

    /// The size of the definition as registered, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// The whole MCP tool object as listed.
    pub(crate) fn published(&self) -> &Map<String, Value> {
        &self.opened().published
    }

    /// The tool object for clients of revisions before 2026-07-28, where it is another one: with
    /// an input schema that has no unions at its root.
    pub(crate) fn published_plainly(&self) -> Option<Map<String, Value>> {
        let opened = self.opened();
        let schema = opened.plain_input.clone()?;
        let mut plain = opened.published.clone();
        plain.insert("inputSchema".to_owned(), schema);
        Some(plain)
    }

    /// The tool object as lists have it, for a client of 2026-07-28 or later (`modern`) or of an
    /// earlier revision. `encode` is always the same.
    pub(crate) fn listed(
        &self,
        modern: bool,
        encode: fn(&Map<String, Value>) -> Option<Box<str>>,
    ) -> Option<&str> {
        let opened = self.opened();
        let [listed, plainly] = &opened.listed;
        let listed = match modern || opened.plain_input.is_none() {
            true => listed.get_or_init(|| encode(&opened.published)),
            false => plainly.get_or_init(|| encode(&self.published_plainly()?)),
        };
        listed.as_deref()
    }

    /// Takes the argument that picks a session out of the arguments, unless it is the tool's own.
    pub(crate) fn take_session_argument(
        &self,
        arguments: &mut Map<String, Value>,
    ) -> Option<String> {
        if self.has_own_session_argument() {
            return None;
        }
        match arguments.shift_remove(SESSION_ARGUMENT)? {
            Value::String(session) => Some(session),
            _ => None,
        }
    }

    /// The tool's own schema has a `session_id`: it is an argument like any other.
    pub(crate) fn has_own_session_argument(&self) -> bool {
        self.opened().has_own_session_argument
    }

    pub(crate) fn input(&self) -> &Validator {
        &self.opened().input
    }

    /// The characters that it says it may answer.
    pub(crate) fn text_chars(&self) -> Option<usize> {
        self.opened().text_chars
    }

    pub(crate) fn output(&self) -> Option<&Validator> {
        self.opened().output.as_ref()
    }
}

/// Whether this name could have been made of another one that clients refuse.
pub(crate) fn looks_repaired(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, suffix)| {
        suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let mut published = Value::Object(tool.published().clone());
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
    fn what_nobody_wants_is_kept_as_text_alone() {
        let tool = parse(json!({"name": "a b", "description": "d"})).unwrap();
        let listed = json!(tool.published());
        assert!(!tool.has_rested(), "it was wanted just now");
        assert!(tool.has_rested());
        let closed = tool.closed();
        assert!(!closed.has_rested(), "there is nothing to forget");
        assert_eq!(closed.published_name(), tool.published_name());
        assert_eq!(json!(closed.published()), listed);
    }

    #[test]
    fn a_name_that_the_text_spells_otherwise_is_kept_beside_it() {
        let spelled = r#"{"name":"a\u0062c","description":"d"}"#;
        let raw = RawValue::from_string(spelled.to_owned()).unwrap();
        let tool = Tool::parse(&raw).unwrap();
        assert_eq!([tool.name(), tool.closed().name()], ["abc"; 2]);
        let plain = parse(json!({"name": "abc", "description": "d"})).unwrap();
        assert_eq!(plain.closed().name(), "abc");
        assert!(plain.special.is_none());
    }

    /// Ten thousand pages with ten tools each hold a hundred thousand of them.
    #[test]
    fn a_tool_takes_little_beside_its_text() {
        assert!(size_of::<Tool>() <= 56, "{}", size_of::<Tool>());
    }

    #[test]
    fn a_tool_keeps_its_own_session_argument() {
        let schema = json!({"type": "object", "properties": {"session_id": {"type": "integer"}}});
        let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
        assert_eq!(tool.published()["inputSchema"], schema);
        let mut arguments = json!({"session_id": 7}).as_object().unwrap().clone();
        assert_eq!(tool.take_session_argument(&mut arguments), None);
        assert_eq!(arguments["session_id"], 7);
    }

    #[test]
    fn names_that_clients_refuse_are_repaired_and_told() {
        for name in ["a b", "ünïcode", &"x".repeat(65), "a/b.c"] {
            let tool = parse(json!({"name": name})).unwrap();
            assert!(tool.published_name().len() <= 64);
            assert!(
                tool.published_name()
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            );
            assert_eq!(tool.published()["title"], name);
            assert_eq!(tool.published()["_meta"][ORIGINAL_NAME], name);
        }
        let tool = parse(json!({"name": "x".repeat(64)})).unwrap();
        assert_eq!(tool.published_name(), tool.name());
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
