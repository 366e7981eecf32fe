//! Parses and shares the definitions of pages: tools, prompts, resources and resource templates.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bridge_protocol::{Definition as Sent, ErrorCode, Item, Kind, RegistrationFailure};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::DefinitionError;
use super::hash::{DefinitionHash, hash_prefix};
use super::interner::{Internable, Interner};
use super::published_item::{PublishedItem, Template};
use super::reserved::is_builtin_resource;
use super::tool::Tool;

/// One definition. Equal definitions share one allocation, see [`DefinitionRegistry`].
#[derive(Clone, Debug)]
pub enum Definition {
    Tool(Arc<Tool>),
    Prompt(Arc<PublishedItem>),
    Resource(Arc<PublishedItem>),
    Template(Arc<Template>),
}

impl Definition {
    /// The kind of the definition.
    pub fn kind(&self) -> Kind {
        match self {
            Definition::Tool(_) => Kind::Tool,
            Definition::Prompt(_) => Kind::Prompt,
            Definition::Resource(_) => Kind::Resource,
            Definition::Template(_) => Kind::ResourceTemplate,
        }
    }

    /// The name, URI or URI template as registered.
    pub fn name(&self) -> &str {
        match self {
            Definition::Tool(tool) => tool.name(),
            Definition::Prompt(listed) | Definition::Resource(listed) => &listed.name,
            Definition::Template(template) => &template.item.name,
        }
    }

    /// The name, URI or URI template that clients see: a tool's name may be repaired.
    pub fn published_name(&self) -> &str {
        match self {
            Definition::Tool(tool) => tool.published_name(),
            _ => self.name(),
        }
    }

    /// The MCP object for a client of revision 2026-07-28 or later (`modern`), or of an earlier
    /// revision, which accepts fewer input schemas.
    pub fn published_for(&self, modern: bool) -> Cow<'_, Map<String, Value>> {
        match self {
            Definition::Tool(tool) if !modern => tool
                .published_for_legacy()
                .map_or(Cow::Borrowed(tool.published()), Cow::Owned),
            _ => Cow::Borrowed(self.published()),
        }
    }

    /// The whole MCP object as clients list it.
    pub fn published(&self) -> &Map<String, Value> {
        match self {
            Definition::Tool(tool) => tool.published(),
            Definition::Prompt(listed) | Definition::Resource(listed) => &listed.published,
            Definition::Template(template) => &template.item.published,
        }
    }

    /// Whether this is a resource with that URI, or a template that matches it. Templates do not
    /// match the URIs of the bridge's own resources.
    pub fn serves(&self, uri: &str) -> bool {
        match self {
            Definition::Resource(listed) => listed.name == uri,
            Definition::Template(template) => {
                !is_builtin_resource(uri) && template.matches(uri).is_some()
            }
            Definition::Tool(_) | Definition::Prompt(_) => false,
        }
    }

    /// The kind and the registered name of the definition.
    pub fn item(&self) -> Item {
        Item {
            kind: self.kind(),
            name: self.name().to_owned(),
        }
    }

    /// The size of the definition as registered, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Definition::Tool(tool) => tool.bytes(),
            Definition::Prompt(listed) | Definition::Resource(listed) => listed.bytes,
            Definition::Template(template) => template.item.bytes,
        }
    }

    /// The first 64 bits of the hash of the definition as registered, which change whenever clients
    /// would see a change.
    pub fn hash(&self) -> u64 {
        match self {
            Definition::Tool(tool) => tool.hash,
            Definition::Prompt(listed) | Definition::Resource(listed) => hash_prefix(&listed.hash),
            Definition::Template(template) => hash_prefix(&template.item.hash),
        }
    }
}

impl Internable for Tool {
    fn matches_text(&self, text: &str, _: &DefinitionHash) -> bool {
        self.raw() == text
    }

    fn hash_prefix(&self) -> u64 {
        self.hash
    }
}

/// Checks that a definition is valid for the MCP layer, which publishes it; the error is the
/// reason.
pub type DefinitionCheck = fn(Kind, &Map<String, Value>) -> Result<(), String>;

/// All live definitions by content: a thousand tabs of one app share one copy.
#[derive(Debug)]
pub struct DefinitionRegistry {
    tools: Interner<Tool>,
    prompts: Interner<PublishedItem>,
    resources: Interner<PublishedItem>,
    templates: Interner<Template>,
    check: DefinitionCheck,
    /// Whether a tool with arguments in headers was ever registered.
    has_header_arguments: AtomicBool,
    /// The largest definition in bytes: the limit for all definitions of a page.
    max_bytes: usize,
}

impl DefinitionRegistry {
    /// Creates an empty registry. `check` is applied to each new definition, and `max_bytes` limits
    /// its size.
    pub fn new(check: DefinitionCheck, max_bytes: usize) -> Self {
        Self {
            tools: Interner::default(),
            prompts: Interner::default(),
            resources: Interner::default(),
            templates: Interner::default(),
            check,
            has_header_arguments: AtomicBool::new(false),
            max_bytes,
        }
    }

    /// Whether there may be a tool whose arguments clients repeat in headers.
    pub fn has_header_arguments(&self) -> bool {
        self.has_header_arguments.load(Ordering::Relaxed)
    }

    /// Parses the definitions of one registration; each succeeds or fails on its own.
    pub fn parse(&self, sent: &[Sent]) -> Vec<Result<Definition, RegistrationFailure>> {
        sent.iter()
            .enumerate()
            .map(|(index, sent)| {
                self.check_size(&sent.definition)
                    .and_then(|()| self.intern(sent))
                    .map_err(|(code, message)| RegistrationFailure {
                        index,
                        name: definition_name(sent),
                        code,
                        message,
                    })
            })
            .collect()
    }

    /// Checks the size before the definition is parsed, because parsing takes time and stack.
    fn check_size(&self, raw: &RawValue) -> Result<(), DefinitionError> {
        let bytes = raw.get().len();
        if bytes <= self.max_bytes {
            return Ok(());
        }
        let message = format!(
            "the definition has {bytes} bytes, and {} is the limit for all definitions of a page: \
             shorten it, or raise `max_definition_bytes`",
            self.max_bytes
        );
        Err((ErrorCode::DefinitionLimitExceeded, message))
    }

    fn intern(&self, sent: &Sent) -> Result<Definition, DefinitionError> {
        let raw = &sent.definition;
        let check = |published: &Map<String, Value>| {
            (self.check)(sent.kind, published).map_err(|error| {
                let message = format!("not as MCP has it: {error}");
                (ErrorCode::DefinitionInvalid, message)
            })
        };
        match sent.kind {
            Kind::Tool => self
                .tools
                .get_or_insert_with(raw, || {
                    let tool = Tool::parse(raw)?;
                    check(tool.published())?;
                    if tool.has_header_arguments() {
                        self.has_header_arguments.store(true, Ordering::Relaxed);
                    }
                    Ok(tool.unparsed())
                })
                .map(Definition::Tool),
            Kind::Prompt => self
                .prompts
                .get_or_insert_with(raw, || check_item(PublishedItem::parse_prompt(raw)?, check))
                .map(Definition::Prompt),
            Kind::Resource => self
                .resources
                .get_or_insert_with(raw, || {
                    check_item(PublishedItem::parse_resource(raw)?, check)
                })
                .map(Definition::Resource),
            Kind::ResourceTemplate => self
                .templates
                .get_or_insert_with(raw, || {
                    let template = Template::parse(raw)?;
                    check(&template.item.published)?;
                    Ok(template)
                })
                .map(Definition::Template),
        }
    }

    /// A smaller definition to store instead of this one: a copy that others already share, or the
    /// text alone if a parsed tool was not used since the last call. Everyone who stores an equal
    /// definition receives the same copy. `None` if the definition should stay as it is.
    pub fn compacted(&self, definition: &Definition) -> Option<Definition> {
        let Definition::Tool(tool) = definition else {
            return None;
        };
        if !tool.is_parsed() {
            return None;
        }
        let is_meant = |known: &Tool| known.raw() == tool.raw();
        let known = self.tools.get(tool.hash, is_meant);
        if let Some(known) = known.filter(|known| !Arc::ptr_eq(known, tool)) {
            return Some(Definition::Tool(known));
        }
        if !tool.is_idle() {
            return None;
        }
        let closed = Arc::new(tool.unparsed());
        self.tools.insert(&closed);
        Some(Definition::Tool(closed))
    }

    /// Removes the entries of definitions that no longer exist.
    pub fn remove_unused(&self) {
        self.tools.remove_unused();
        self.prompts.remove_unused();
        self.resources.remove_unused();
        self.templates.remove_unused();
    }
}

fn check_item(
    listed: PublishedItem,
    check: impl Fn(&Map<String, Value>) -> Result<(), DefinitionError>,
) -> Result<PublishedItem, DefinitionError> {
    check(&listed.published)?;
    Ok(listed)
}

/// The number of characters of a definition's name in an error; the index identifies the
/// definition.
const MAX_ERROR_NAME_CHARS: usize = 256;

/// The name, URI or URI template of a refused definition; its other fields are skipped.
fn definition_name(sent: &Sent) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        name: Option<String>,
        uri: Option<String>,
        uri_template: Option<String>,
    }
    let named: Named = serde_json::from_str(sent.definition.get()).ok()?;
    let name = match sent.kind {
        Kind::Tool | Kind::Prompt => named.name,
        Kind::Resource => named.uri,
        Kind::ResourceTemplate => named.uri_template,
    };
    name.map(|name| match name.char_indices().nth(MAX_ERROR_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    })
}

#[cfg(test)]
mod tests {
    use super::super::interner::MAX_UNUSED_ENTRIES;
    use super::*;
    use serde_json::json;

    fn parse(kind: Kind, definition: Value) -> Result<Definition, RegistrationFailure> {
        let definition = RawValue::from_string(definition.to_string()).unwrap();
        DefinitionRegistry::new(|_, _| Ok(()), 10_000)
            .parse(&[Sent { kind, definition }])
            .remove(0)
    }

    #[test]
    fn prompts_resources_and_templates_are_published_verbatim() {
        let cases = [
            (
                Kind::Prompt,
                json!({"name": "p", "arguments": [{"name": "a", "required": true}], "z": 1}),
            ),
            (
                Kind::Resource,
                json!({"uri": "board://cards", "name": "cards", "size": 7}),
            ),
            (
                Kind::ResourceTemplate,
                json!({"uriTemplate": "board://{id}", "name": "card"}),
            ),
        ];
        for (kind, definition) in cases {
            let parsed = parse(kind, definition.clone()).unwrap();
            assert_eq!(
                Value::Object(parsed.published().clone()).to_string(),
                definition.to_string()
            );
            assert_eq!(parsed.kind(), kind);
        }
    }

    #[test]
    fn errors_say_why_a_definition_cannot_be_published() {
        let cases = [
            (Kind::Prompt, json!({"name": ""}), "`name`"),
            (Kind::Prompt, json!({"name": "p", "arguments": {}}), "array"),
            (
                Kind::Prompt,
                json!({"name": "p", "arguments": [{}]}),
                "needs a `name`",
            ),
            (
                Kind::Prompt,
                json!({"name": "p", "arguments": [{"name": "a"}, {"name": "a"}]}),
                "one `name`",
            ),
            (Kind::Resource, json!({"uri": "board://x"}), "`name`"),
            (
                Kind::Resource,
                json!({"uri": "cards", "name": "n"}),
                "scheme",
            ),
            (
                Kind::Resource,
                json!({"uri": "a b:c", "name": "n"}),
                "no URI",
            ),
            (
                Kind::Resource,
                json!({"uri": format!("a:{}", "b".repeat(crate::definition::MAX_URI_BYTES)), "name": "n"}),
                "bytes",
            ),
            (
                Kind::Resource,
                json!({"uri": "sessions://list", "name": "n"}),
                "itself",
            ),
            (
                Kind::Resource,
                json!({"uri": "a:b", "name": "n", "_meta": 7}),
                "_meta",
            ),
            (
                Kind::ResourceTemplate,
                json!({"uriTemplate": "a{", "name": "n"}),
                "RFC 6570",
            ),
            (Kind::ResourceTemplate, json!([]), "object"),
        ];
        for (kind, definition, word) in cases {
            let failure = parse(kind, definition.clone()).unwrap_err();
            assert_eq!(failure.code, ErrorCode::DefinitionInvalid, "{definition}");
            assert!(
                failure.message.contains(word),
                "{definition}: {}",
                failure.message
            );
        }
    }

    #[test]
    fn missing_arguments_lists_absent_required_ones() {
        let prompt =
            json!({"name": "p", "arguments": [{"name": "a", "required": true}, {"name": "b"}]});
        let Ok(Definition::Prompt(prompt)) = parse(Kind::Prompt, prompt) else {
            panic!("refused")
        };
        assert_eq!(prompt.missing_arguments(&Map::new()), ["a"]);
        let given = Map::from_iter([("a".to_owned(), json!("x"))]);
        assert!(prompt.missing_arguments(&given).is_empty());
    }

    #[test]
    fn errors_truncate_long_names() {
        let long = "n".repeat(MAX_ERROR_NAME_CHARS + 1);
        let failure = parse(Kind::Prompt, json!({"name": long, "arguments": 7})).unwrap_err();
        assert_eq!(
            failure.name.unwrap().chars().count(),
            MAX_ERROR_NAME_CHARS + 1
        );
    }

    #[test]
    fn equal_definitions_share_one_allocation() {
        let definitions = DefinitionRegistry::new(|_, _| Ok(()), 10_000);
        let definition = RawValue::from_string(r#"{"name":"t"}"#.to_owned()).unwrap();
        let sent = Sent {
            kind: Kind::Tool,
            definition,
        };
        let parsed = definitions.parse(&[sent.clone(), sent]);
        let [Ok(Definition::Tool(a)), Ok(Definition::Tool(b))] = &parsed[..] else {
            panic!("refused")
        };
        assert!(Arc::ptr_eq(a, b));
        drop(parsed);
        definitions.remove_unused();
        assert!(definitions.tools.entries.is_empty());
    }

    #[test]
    fn unused_definitions_are_removed_before_housekeeping() {
        let interned = Interner::<PublishedItem>::default();
        let resource = |n: usize| {
            let raw = format!(r#"{{"uri":"board://{n}","name":"n"}}"#);
            let raw = RawValue::from_string(raw).unwrap();
            interned
                .get_or_insert_with(&raw, || PublishedItem::parse_resource(&raw))
                .unwrap()
        };
        let kept = resource(0);
        for n in 1..3 * MAX_UNUSED_ENTRIES {
            resource(n);
            assert!(interned.entries.len() <= MAX_UNUSED_ENTRIES + 4);
        }
        let again = resource(0);
        assert!(Arc::ptr_eq(&kept, &again));
    }

    #[test]
    fn a_compacted_tool_is_shared_by_all_holders() {
        let definitions = DefinitionRegistry::new(|_, _| Ok(()), 10_000);
        let definition = RawValue::from_string(r#"{"name":"t"}"#.to_owned()).unwrap();
        let kind = Kind::Tool;
        let sent = [Sent { kind, definition }];
        let held = definitions.parse(&sent).remove(0).unwrap();
        assert!(definitions.compacted(&held).is_none(), "it is not parsed");
        assert_eq!(held.published()["name"], "t");
        assert!(definitions.compacted(&held).is_none(), "it was just used");
        let closed = definitions.compacted(&held).unwrap();
        let another = definitions.compacted(&held).unwrap();
        let fresh = definitions.parse(&sent).remove(0).unwrap();
        let all = [&closed, &another, &fresh].map(|it| match it {
            Definition::Tool(tool) => Arc::as_ptr(tool),
            other => panic!("{other:?}"),
        });
        assert!(all.iter().all(|it| *it == all[0]));
    }
}
