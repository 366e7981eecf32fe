//! Prompts, resources and resource templates, which are listed as their page wrote them, without
//! invisible characters and with the repairs of [`mcp_fields`].

use std::collections::BTreeMap;

use bridge_protocol::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::definition_error::DefinitionError;
use super::hash::{DefinitionHash, hash_prefix, hash_text};
use super::interner::Internable;
use super::invisible;
use super::mcp_fields::{self, FieldTable};
use super::reserved::is_builtin_resource;
use super::uri::check_uri;
use super::uri_template::UriTemplate;

/// A prompt or a resource, which is listed as the page wrote it.
#[derive(Debug)]
pub struct PublishedItem {
    /// The name of a prompt, or the URI or URI template of a resource.
    pub name: String,
    /// The whole MCP object.
    pub published: Map<String, Value>,
    pub(super) bytes: usize,
    pub(super) hash: [u8; 32],
}

impl PublishedItem {
    pub(super) fn parse(
        raw: &RawValue,
        key: &'static str,
        table: FieldTable,
    ) -> Result<Self, DefinitionError> {
        let invalid = |message: String| (ErrorCode::DefinitionInvalid, message);
        let mut published: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|_| invalid("a definition must be an object".to_owned()))?;
        mcp_fields::repair_fields(&mut published, table).map_err(invalid)?;
        invisible::clean_texts(&mut published);
        let text = |key: &str| {
            published
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .ok_or_else(|| invalid(format!("it needs `{key}`: a non-empty string")))
        };
        text("name")?;
        let name = text(key)?.to_owned();
        invisible::check_name(key, &name)?;
        // The name of a resource is only a label: its URI identifies it.
        if let Some(Value::String(label)) = published.get_mut("name").filter(|_| key != "name") {
            invisible::clean(label);
        }
        Ok(Self {
            name,
            published,
            bytes: raw.get().len(),
            hash: hash_text(raw.get()),
        })
    }

    pub(super) fn parse_prompt(raw: &RawValue) -> Result<Self, DefinitionError> {
        let prompt = Self::parse(raw, "name", mcp_fields::PROMPT)?;
        let invalid = |message: &str| (ErrorCode::DefinitionInvalid, message.to_owned());
        let mut names = std::collections::HashSet::new();
        for argument in prompt.arguments() {
            let name = argument["name"].as_str().unwrap_or_default();
            if name.is_empty() {
                return Err(invalid("each of `arguments` needs a `name`"));
            }
            if !names.insert(name.to_owned()) {
                return Err(invalid("two of `arguments` have one `name`"));
            }
            invisible::check_name("arguments[].name", name)?;
        }
        Ok(prompt)
    }

    pub(super) fn parse_resource(raw: &RawValue) -> Result<Self, DefinitionError> {
        let resource = Self::parse(raw, "uri", mcp_fields::RESOURCE)?;
        let uri = &resource.name;
        if is_builtin_resource(uri) {
            let message = format!("`{uri}` is a resource of the bridge itself: choose another URI");
            return Err((ErrorCode::DefinitionInvalid, message));
        }
        check_uri(uri).map_err(|error| (ErrorCode::DefinitionInvalid, error))?;
        Ok(resource)
    }

    fn arguments(&self) -> &[Value] {
        let arguments = self.published.get("arguments").and_then(Value::as_array);
        arguments.map_or(&[], Vec::as_slice)
    }

    /// The prompt's required arguments that are absent from `given`.
    pub fn missing_arguments(&self, given: &Map<String, Value>) -> Vec<&str> {
        self.arguments()
            .iter()
            .filter(|argument| argument.get("required") == Some(&Value::Bool(true)))
            .filter_map(|argument| argument.get("name").and_then(Value::as_str))
            .filter(|name| !given.contains_key(*name))
            .collect()
    }
}

/// A resource template and the pattern of the URIs that match it.
#[derive(Debug)]
pub struct Template {
    /// The listed template; its name is the text of the URI template.
    pub item: PublishedItem,
    uri_template: UriTemplate,
}

impl Template {
    pub(super) fn parse(raw: &RawValue) -> Result<Self, DefinitionError> {
        let listed = PublishedItem::parse(raw, "uriTemplate", mcp_fields::RESOURCE_TEMPLATE)?;
        let uris = UriTemplate::parse(&listed.name).map_err(|error| {
            let message = format!("`uriTemplate` is not a URI template of RFC 6570: {error}");
            (ErrorCode::DefinitionInvalid, message)
        })?;
        Ok(Self {
            item: listed,
            uri_template: uris,
        })
    }

    /// The values of the template's variables, if the URI matches.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.uri_template.matches(uri)
    }
}

impl Internable for PublishedItem {
    fn matches_text(&self, _: &str, hash: &DefinitionHash) -> bool {
        self.hash == *hash
    }

    fn hash_prefix(&self) -> u64 {
        hash_prefix(&self.hash)
    }
}

impl Internable for Template {
    fn matches_text(&self, text: &str, hash: &DefinitionHash) -> bool {
        self.item.matches_text(text, hash)
    }

    fn hash_prefix(&self) -> u64 {
        self.item.hash_prefix()
    }
}
