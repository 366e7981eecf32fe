//! A tool definition, both as the page wrote it and as clients see it.

mod annotations;
mod listing_cache;
mod name_span;
mod parsed;
pub(crate) mod published_name;
pub mod repair;
mod schema_support;
#[cfg(test)]
mod tests;
mod timeout;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::hash;
pub use annotations::RESULT_SIZE_KEY;
use bridge_schema::Validator;
pub use listing_cache::ListingCache;
use name_span::NameSpan;
use parsed::ParsedTool;
pub use parsed::SESSION_ARGUMENT;
pub use schema_support::SchemaSupport;

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
    pub fn has_list_entry(&self, support: SchemaSupport) -> bool {
        self.parsed
            .get()
            .is_some_and(|parsed| parsed.list_entry_cell(support).get().is_some())
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

    /// The tool object for such a client, if it differs from [`SharedTool::published`].
    pub fn published_for(&self, support: SchemaSupport) -> Option<Map<String, Value>> {
        let mut published = None;
        for (field, schema) in self.parsed().schemas_for(support) {
            if let Some(schema) = schema {
                let published = published.get_or_insert_with(|| self.published().clone());
                published.insert(field.to_owned(), schema.clone());
            }
        }
        published
    }

    /// The encoded list entry for such a client. Every call must pass the same `encode`, because
    /// the result is cached.
    pub fn list_entry(
        &self,
        support: SchemaSupport,
        encode: fn(&Map<String, Value>) -> Option<Box<str>>,
    ) -> Option<&str> {
        let cell = self.parsed().list_entry_cell(support);
        let listed = cell.get_or_init(|| match self.published_for(support) {
            Some(published) => encode(&published),
            None => encode(self.published()),
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
