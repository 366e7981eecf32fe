//! A tool definition, both as the page wrote it and as clients see it.

mod annotations;
mod fields;
mod listing_cache;
mod name_span;
mod parsed;
pub(crate) mod published_name;
pub mod repair;
#[cfg(test)]
mod round_trip;
mod timeout;

/// Shared with the integration tests of the bridge.
#[cfg(test)]
#[path = "../../../tests/integration/any_definition.rs"]
mod any_definition;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::hash;
pub use annotations::RESULT_SIZE_KEY;
use bridge_schema::Validator;
pub use fields::check_icons;
pub use listing_cache::ListingCache;
use name_span::NameSpan;
use parsed::ParsedTool;
pub use parsed::SESSION_ARGUMENT;

/// One tool definition. Equal definitions share one allocation, see [`DefinitionRegistry`].
///
/// Most tools of most pages are never listed or called, so only the text is stored at first. The
/// published form and the validators take many times the memory and are parsed on first use.
///
/// [`DefinitionRegistry`]: crate::definition::DefinitionRegistry
#[derive(Debug)]
pub struct SharedTool {
    /// The definition as registered.
    raw: Box<str>,
    /// The first 64 bits of the hash of `raw`.
    pub hash: u64,
    parsed: OnceLock<Box<ParsedTool>>,
    extras: Option<Box<ToolExtras>>,
    name_span: NameSpan,
    /// Whether the parsed form was used since the last call of [`SharedTool::is_idle`].
    recently_used: AtomicBool,
}

/// Properties that few tools have, stored separately to keep [`SharedTool`] small.
#[derive(Clone, Debug, Default, PartialEq)]
struct ToolExtras {
    /// The name as registered, if `raw` does not contain it verbatim near its beginning.
    registered_name: Option<Box<str>>,
    /// The published name, if it differs from the registered one.
    repaired_name: Option<Box<str>>,
    /// How long a call may take, if the definition sets it.
    timeout: Option<Duration>,
    /// Whether clients repeat some of its arguments in headers.
    has_header_arguments: bool,
}

impl SharedTool {
    /// Parses and checks a definition. The parsed form stays in memory, see [`SharedTool::unparsed`].
    pub fn parse(raw: &RawValue) -> Result<Self, (ErrorCode, String)> {
        let parsed = ParsedTool::parse(raw.get())?;
        let invalid = |error| (ErrorCode::DefinitionInvalid, error);
        let place = NameSpan::find(&parsed.name, raw.get());
        let repaired = parsed.published_name != parsed.name;
        let extras = ToolExtras {
            registered_name: place.is_none().then(|| parsed.name.as_str().into()),
            repaired_name: repaired.then(|| parsed.published_name.as_str().into()),
            timeout: timeout::parse_timeout(&parsed.published).map_err(invalid)?,
            has_header_arguments: annotations::has_header_arguments(&parsed.published),
        };
        Ok(Self {
            raw: raw.get().into(),
            hash: hash::hash_prefix(&hash::hash_text(raw.get())),
            parsed: OnceLock::from(Box::new(parsed)),
            extras: (extras != ToolExtras::default()).then(|| Box::new(extras)),
            name_span: place.unwrap_or_default(),
            recently_used: AtomicBool::new(false),
        })
    }

    /// A copy of this tool that stores only the text, without the parsed form.
    pub fn unparsed(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            hash: self.hash,
            parsed: OnceLock::new(),
            extras: self.extras.clone(),
            name_span: self.name_span,
            recently_used: AtomicBool::new(false),
        }
    }

    /// The name as registered.
    pub fn name(&self) -> &str {
        let extras = self
            .extras
            .as_ref()
            .and_then(|it| it.registered_name.as_deref());
        extras.unwrap_or_else(|| self.name_span.slice(&self.raw))
    }

    /// How long a call may take, if the definition sets it; it replaces `call_timeout`.
    pub fn timeout(&self) -> Option<Duration> {
        self.extras.as_ref()?.timeout
    }

    /// Whether clients repeat some of its arguments in headers (MCP 2026-07-28, `x-mcp-header`).
    pub fn has_header_arguments(&self) -> bool {
        let extras = self.extras.as_ref();
        extras.is_some_and(|it| it.has_header_arguments)
    }

    /// Whether the tool declares that calling it again with the same arguments has no further effect.
    pub fn is_idempotent(&self) -> bool {
        let annotations = self.published().get("annotations");
        let has_hint = |hint| annotations.and_then(|it| it.get(hint)) == Some(&Value::Bool(true));
        has_hint("readOnlyHint") || has_hint("idempotentHint")
    }

    /// Whether the parsed form is in memory.
    pub fn is_parsed(&self) -> bool {
        self.parsed.get().is_some()
    }

    /// Whether the tool is parsed and was not used since the last call of this method.
    pub fn is_idle(&self) -> bool {
        !self.recently_used.swap(false, Ordering::Relaxed) && self.is_parsed()
    }

    /// Parses the definition, unless it is parsed.
    pub fn parse_now(&self) {
        self.parsed();
    }

    /// Whether the list entry for such a client is in memory, see [`SharedTool::list_entry`].
    pub fn has_list_entry(&self, modern: bool) -> bool {
        self.parsed
            .get()
            .is_some_and(|parsed| parsed.list_entry_cell(modern).get().is_some())
    }

    fn parsed(&self) -> &ParsedTool {
        if !self.recently_used.load(Ordering::Relaxed) {
            self.recently_used.store(true, Ordering::Relaxed);
        }
        self.parsed.get_or_init(|| {
            let parsed = ParsedTool::parse(&self.raw);
            Box::new(parsed.expect("a registered definition parses again"))
        })
    }

    /// The name that clients see, see [`published_name`].
    pub fn published_name(&self) -> &str {
        let extras = self.extras.as_ref();
        let repaired = extras.and_then(|it| it.repaired_name.as_deref());
        repaired.unwrap_or_else(|| self.name())
    }

    /// The definition as registered.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The input schema as registered, in the page's own spelling, or `{}` if there is none.
    pub fn registered_input_schema(&self) -> &str {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Registered<'a> {
            #[serde(borrow)]
            input_schema: Option<&'a RawValue>,
        }
        let registered = serde_json::from_str::<Registered<'_>>(&self.raw).ok();
        registered
            .and_then(|it| it.input_schema)
            .map_or("{}", RawValue::get)
    }

    /// The list entries of an interface that encodes them itself.
    pub fn listing_cache(&self) -> &ListingCache {
        &self.parsed().listing_cache
    }

    /// Whether such a list entry is in memory.
    pub fn is_listing_cached(&self, several_pages: bool) -> bool {
        let parsed = self.parsed.get();
        parsed.is_some_and(|parsed| parsed.listing_cache.is_encoded(several_pages))
    }

    /// The size of the definition as registered, in bytes.
    pub fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// The whole MCP tool object as clients list it.
    pub fn published(&self) -> &Map<String, Value> {
        &self.parsed().published
    }

    /// The tool object for clients of revisions before 2026-07-28, if it differs from
    /// [`SharedTool::published`]: its input schema has no unions at the root.
    pub fn published_for_legacy(&self) -> Option<Map<String, Value>> {
        let parsed = self.parsed();
        let schema = parsed.legacy_input_schema.clone()?;
        let mut legacy = parsed.published.clone();
        legacy.insert("inputSchema".to_owned(), schema);
        Some(legacy)
    }

    /// The encoded list entry for a client of revision 2026-07-28 or later (`modern`), or of an
    /// earlier revision. Every call must pass the same `encode`, because the result is cached.
    pub fn list_entry(
        &self,
        modern: bool,
        encode: fn(&Map<String, Value>) -> Option<Box<str>>,
    ) -> Option<&str> {
        let parsed = self.parsed();
        let listed = parsed.list_entry_cell(modern).get_or_init(|| {
            if modern || parsed.legacy_input_schema.is_none() {
                encode(&parsed.published)
            } else {
                encode(&self.published_for_legacy()?)
            }
        });
        listed.as_deref()
    }

    /// Whether the tool's own schema defines `session_id`, which is then an argument like any
    /// other.
    pub fn has_own_session_argument(&self) -> bool {
        self.parsed().has_own_session_argument
    }

    /// The validator of the arguments of calls.
    pub fn input_validator(&self) -> &Validator {
        &self.parsed().input_validator
    }

    /// The maximum number of characters of its results, if the definition declares one.
    pub fn max_text_chars(&self) -> Option<usize> {
        self.parsed().max_text_chars
    }

    /// The validator of structured results; `None` if the tool has no output schema.
    pub fn output_validator(&self) -> Option<&Validator> {
        self.parsed().output_validator.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::published_name::ORIGINAL_NAME_KEY;
    use super::*;

    fn parse(definition: Value) -> Result<SharedTool, (ErrorCode, String)> {
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        SharedTool::parse(&raw)
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
    fn idle_tools_are_reduced_to_their_text() {
        let tool = parse(json!({"name": "a b", "description": "d"})).unwrap();
        let listed = json!(tool.published());
        assert!(!tool.is_idle(), "it was just used");
        assert!(tool.is_idle());
        let closed = tool.unparsed();
        assert!(!closed.is_idle(), "it is not parsed");
        assert_eq!(closed.published_name(), tool.published_name());
        assert_eq!(json!(closed.published()), listed);
    }

    #[test]
    fn names_with_escapes_are_stored_separately() {
        let spelled = r#"{"name":"a\u0062c","description":"d"}"#;
        let raw = RawValue::from_string(spelled.to_owned()).unwrap();
        let tool = SharedTool::parse(&raw).unwrap();
        assert_eq!([tool.name(), tool.unparsed().name()], ["abc"; 2]);
        let legacy = parse(json!({"name": "abc", "description": "d"})).unwrap();
        assert_eq!(legacy.unparsed().name(), "abc");
        assert!(legacy.extras.is_none());
    }

    /// Ten thousand pages with ten different tools each need a hundred thousand of these structs.
    #[test]
    fn the_tool_struct_stays_small() {
        assert!(size_of::<SharedTool>() <= 56, "{}", size_of::<SharedTool>());
    }

    #[test]
    fn a_tool_keeps_its_own_session_argument() {
        let schema = json!({"type": "object", "properties": {"session_id": {"type": "integer"}}});
        let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
        assert_eq!(tool.published()["inputSchema"], schema);
        assert!(tool.has_own_session_argument());
        assert!(
            !parse(json!({"name": "t"}))
                .unwrap()
                .has_own_session_argument()
        );
    }

    #[test]
    fn a_tool_with_sessions_of_the_app_gets_no_second_session_argument() {
        let schema = json!({"type": "object", "properties": {"sessionId": {"type": "string"}}});
        let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
        assert_eq!(tool.published()["inputSchema"], schema);
        assert!(!tool.has_own_session_argument());
    }

    #[test]
    fn a_repaired_name_is_published_with_the_registered_one() {
        for name in ["a b", "ünïcode", &"x".repeat(65)] {
            let tool = parse(json!({"name": name})).unwrap();
            assert_eq!(tool.published()["name"], tool.published_name());
            assert_eq!(tool.published()["title"], name);
            assert_eq!(tool.published()["_meta"][ORIGINAL_NAME_KEY], name);
        }
        let tool = parse(json!({"name": "x".repeat(64)})).unwrap();
        assert_eq!(tool.published_name(), tool.name());
        assert!(!tool.published().contains_key("_meta"));
    }

    #[test]
    fn invisible_characters_are_not_published_in_texts() {
        let hidden = "a\u{e0041}\u{202e}\u{200b}\u{fe01}b ❤\u{fe0f}";
        let definition = |text: &str| {
            json!({
                "name": "t", "title": text, "description": text, "annotations": { "title": text },
                "inputSchema": { "type": "object", "description": text, "properties": {
                    "description": { "title": text, "enum": [hidden], "default": hidden },
                    "session_id": { "anyOf": [{ "description": text }] },
                } },
                "outputSchema": { "type": "object", "$defs": { hidden: { "description": text } } },
            })
        };
        let tool = parse(definition(hidden)).unwrap();
        assert_eq!(json!(tool.published()), definition("ab ❤\u{fe0f}"));
        assert_eq!(tool.raw(), definition(hidden).to_string());
        let named = parse(json!({ "name": "a\u{200b}b" })).unwrap();
        assert_eq!(named.published()["title"], "ab");
        assert_eq!(named.published()["_meta"][ORIGINAL_NAME_KEY], "a\u{200b}b");
        let legacy = json!({ "name": "t", "inputSchema": { "type": "object",
            "anyOf": [{ "properties": { "a": { "description": hidden } } }] } });
        let legacy = json!(parse(legacy).unwrap().published_for_legacy());
        assert_eq!(
            legacy["inputSchema"]["properties"]["a"]["description"],
            "ab ❤\u{fe0f}"
        );
    }

    #[test]
    fn errors_say_why_a_tool_cannot_be_published() {
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
