//! Parses and shares the definitions of pages: tools, prompts, resources and resource templates.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bridge_protocol::{Definition as Sent, ErrorCode, Item, Kind, RegistrationFailure};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::definition_error::{DefinitionError, MAX_NAME_BYTES, definition_name};
use super::hash::{DefinitionHash, hash_prefix};
use super::interner::{Internable, Interner};
use super::published_item::{PublishedItem, Template};
use super::reserved::is_builtin_resource;
use super::tool::{SchemaSupport, SharedTool};

/// One definition. Equal definitions share one allocation, see [`DefinitionRegistry`].
#[derive(Clone, Debug)]
pub enum SharedDefinition {
    Tool(Arc<SharedTool>),
    Prompt(Arc<PublishedItem>),
    Resource(Arc<PublishedItem>),
    Template(Arc<Template>),
}

impl SharedDefinition {
    /// The kind of the definition.
    pub fn kind(&self) -> Kind {
        match self {
            SharedDefinition::Tool(_) => Kind::Tool,
            SharedDefinition::Prompt(_) => Kind::Prompt,
            SharedDefinition::Resource(_) => Kind::Resource,
            SharedDefinition::Template(_) => Kind::ResourceTemplate,
        }
    }

    /// The name, URI or URI template as registered.
    pub fn name(&self) -> &str {
        match self {
            SharedDefinition::Tool(tool) => tool.name(),
            SharedDefinition::Prompt(listed) | SharedDefinition::Resource(listed) => &listed.name,
            SharedDefinition::Template(template) => &template.item.name,
        }
    }

    /// The name, URI or URI template that clients see: a tool's name may be repaired.
    pub fn published_name(&self) -> &str {
        match self {
            SharedDefinition::Tool(tool) => tool.published_name(),
            _ => self.name(),
        }
    }

    /// The MCP object for such a client.
    pub fn published_for(&self, support: SchemaSupport) -> Cow<'_, Map<String, Value>> {
        let published = match self {
            SharedDefinition::Tool(tool) => tool.published_for(support),
            _ => None,
        };
        published.map_or(Cow::Borrowed(self.published()), Cow::Owned)
    }

    /// The whole MCP object as clients list it.
    pub fn published(&self) -> &Map<String, Value> {
        match self {
            SharedDefinition::Tool(tool) => tool.published(),
            SharedDefinition::Prompt(listed) | SharedDefinition::Resource(listed) => {
                &listed.published
            }
            SharedDefinition::Template(template) => &template.item.published,
        }
    }

    /// Whether this is a resource with that URI, or a template that matches it. Templates do not
    /// match the URIs of the bridge's own resources.
    pub fn serves(&self, uri: &str) -> bool {
        match self {
            SharedDefinition::Resource(listed) => listed.name == uri,
            SharedDefinition::Template(template) => {
                !is_builtin_resource(uri) && template.matches(uri).is_some()
            }
            SharedDefinition::Tool(_) | SharedDefinition::Prompt(_) => false,
        }
    }

    /// The definition as a page would register it. A tool is as its page has registered it, and others are
    /// as clients see them.
    pub fn to_registration(&self) -> serde_json::Result<Sent> {
        let definition = match self {
            SharedDefinition::Tool(tool) => RawValue::from_string(tool.raw().to_owned())?,
            _ => to_raw_value(self.published())?,
        };
        Ok(Sent {
            kind: self.kind(),
            definition,
        })
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
            SharedDefinition::Tool(tool) => tool.bytes(),
            SharedDefinition::Prompt(listed) | SharedDefinition::Resource(listed) => listed.bytes,
            SharedDefinition::Template(template) => template.item.bytes,
        }
    }

    /// The first 64 bits of the hash of the definition as registered, which change whenever clients
    /// would see a change.
    pub fn hash(&self) -> u64 {
        match self {
            SharedDefinition::Tool(tool) => tool.hash,
            SharedDefinition::Prompt(listed) | SharedDefinition::Resource(listed) => {
                hash_prefix(&listed.hash)
            }
            SharedDefinition::Template(template) => hash_prefix(&template.item.hash),
        }
    }
}

impl Internable for SharedTool {
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

/// The limits of a [`DefinitionRegistry`].
#[derive(Clone, Copy, Debug)]
pub struct DefinitionLimits {
    /// The largest definition in bytes: the limit for all definitions of a page.
    pub max_bytes: usize,
}

/// All live definitions by content: a thousand tabs of one app share one copy.
#[derive(Debug)]
pub struct DefinitionRegistry {
    tools: Interner<SharedTool>,
    prompts: Interner<PublishedItem>,
    resources: Interner<PublishedItem>,
    templates: Interner<Template>,
    check: DefinitionCheck,
    /// Whether a tool with arguments in headers was ever registered.
    has_header_arguments: AtomicBool,
    limits: DefinitionLimits,
}

impl DefinitionRegistry {
    /// Creates an empty registry. `check` is applied to each new definition.
    pub fn new(check: DefinitionCheck, limits: DefinitionLimits) -> Self {
        Self {
            tools: Interner::default(),
            prompts: Interner::default(),
            resources: Interner::default(),
            templates: Interner::default(),
            check,
            has_header_arguments: AtomicBool::new(false),
            limits,
        }
    }

    /// Whether there may be a tool whose arguments clients repeat in headers.
    pub fn has_header_arguments(&self) -> bool {
        self.has_header_arguments.load(Ordering::Relaxed)
    }

    /// Parses the definitions of one registration; each succeeds or fails on its own. In all, at
    /// most `max_bytes` of them are parsed, because a page may not have more. `Session::register`
    /// enforces that for the definitions of several registrations.
    pub fn parse(&self, sent: &[Sent]) -> Vec<Result<SharedDefinition, RegistrationFailure>> {
        let mut remaining = self.limits.max_bytes;
        sent.iter()
            .enumerate()
            .map(|(index, sent)| {
                let failure = |name, (code, message)| RegistrationFailure {
                    index,
                    name,
                    code,
                    message,
                };
                match self.check_size(&sent.definition, &mut remaining) {
                    Ok(()) => self
                        .intern(sent)
                        .map_err(|error| failure(definition_name(sent, usize::MAX), error)),
                    Err(error) => Err(failure(definition_name(sent, MAX_NAME_BYTES), error)),
                }
            })
            .collect()
    }

    /// Checks the size before the definition is parsed, because parsing takes time and stack.
    /// `remaining` is the number of bytes that may still be parsed.
    fn check_size(&self, raw: &RawValue, remaining: &mut usize) -> Result<(), DefinitionError> {
        let (bytes, max_bytes) = (raw.get().len(), self.limits.max_bytes);
        if let Some(rest) = remaining.checked_sub(bytes) {
            *remaining = rest;
            return Ok(());
        }
        let message = if bytes > max_bytes {
            format!(
                "the definition has {bytes} bytes, and {max_bytes} is the limit for all \
                 definitions of a page: shorten it, or raise `max_definition_bytes`"
            )
        } else {
            format!(
                "with this one the definitions of one message have more than {max_bytes} bytes, \
                 which is the limit for all definitions of a page: shorten them, or raise \
                 `max_definition_bytes`"
            )
        };
        Err((ErrorCode::DefinitionLimitExceeded, message))
    }

    fn intern(&self, sent: &Sent) -> Result<SharedDefinition, DefinitionError> {
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
                    let tool = SharedTool::parse(raw)?;
                    check(tool.published())?;
                    if tool.has_header_arguments() {
                        self.has_header_arguments.store(true, Ordering::Relaxed);
                    }
                    Ok(tool.unparsed())
                })
                .map(SharedDefinition::Tool),
            Kind::Prompt => self
                .prompts
                .get_or_insert_with(raw, || check_item(PublishedItem::parse_prompt(raw)?, check))
                .map(SharedDefinition::Prompt),
            Kind::Resource => self
                .resources
                .get_or_insert_with(raw, || {
                    check_item(PublishedItem::parse_resource(raw)?, check)
                })
                .map(SharedDefinition::Resource),
            Kind::ResourceTemplate => self
                .templates
                .get_or_insert_with(raw, || {
                    let template = Template::parse(raw)?;
                    check(&template.item.published)?;
                    Ok(template)
                })
                .map(SharedDefinition::Template),
        }
    }

    /// Returns a smaller definition to store instead of this one: a copy that others already share,
    /// or the text alone if a parsed tool was not used since the last call. Equal definitions
    /// receive the same copy. Returns `None` if the definition should stay unchanged.
    pub fn compacted(&self, definition: &SharedDefinition) -> Option<SharedDefinition> {
        let SharedDefinition::Tool(tool) = definition else {
            return None;
        };
        if !tool.is_parsed() {
            return None;
        }
        let is_meant = |known: &SharedTool| known.raw() == tool.raw();
        let known = self.tools.get(tool.hash, is_meant);
        if let Some(known) = known.filter(|known| !Arc::ptr_eq(known, tool)) {
            return Some(SharedDefinition::Tool(known));
        }
        if !tool.is_idle() {
            return None;
        }
        let closed = Arc::new(tool.unparsed());
        self.tools.insert(&closed);
        Some(SharedDefinition::Tool(closed))
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

#[cfg(test)]
mod tests;
