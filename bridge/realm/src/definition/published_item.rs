//! Prompts, resources and resource templates, which are listed as their page wrote them, without
//! invisible characters.

use std::collections::BTreeMap;

use bridge_protocol::ErrorCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::definition_error::DefinitionError;
use super::hash::{DefinitionHash, hash_prefix, hash_text};
use super::interner::Internable;
use super::invisible;
use super::reserved::is_builtin_resource;
use super::uri_template::{MAX_URI_BYTES, UriTemplate};

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
    pub(super) fn parse(raw: &RawValue, key: &'static str) -> Result<Self, DefinitionError> {
        let invalid = |message: String| (ErrorCode::DefinitionInvalid, message);
        let mut published: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|_| invalid("a definition must be an object".to_owned()))?;
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
        if published.get("_meta").is_some_and(|meta| !meta.is_object()) {
            return Err(invalid("`_meta` must be an object".to_owned()));
        }
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
        let prompt = Self::parse(raw, "name")?;
        let invalid = |message: &str| (ErrorCode::DefinitionInvalid, message.to_owned());
        let mut names = std::collections::HashSet::new();
        for argument in prompt.arguments()? {
            let name = argument.get("name").and_then(Value::as_str);
            match name.filter(|name| !name.is_empty()) {
                None => return Err(invalid("each of `arguments` needs a `name`")),
                Some(name) if !names.insert(name.to_owned()) => {
                    return Err(invalid("two of `arguments` have one `name`"));
                }
                Some(name) => invisible::check_name("arguments[].name", name)?,
            }
        }
        Ok(prompt)
    }

    pub(super) fn parse_resource(raw: &RawValue) -> Result<Self, DefinitionError> {
        let resource = Self::parse(raw, "uri")?;
        check_uri(&resource.name)?;
        Ok(resource)
    }

    fn arguments(&self) -> Result<&[Value], DefinitionError> {
        match self.published.get("arguments") {
            None => Ok(&[]),
            Some(Value::Array(arguments)) => Ok(arguments),
            Some(_) => Err((
                ErrorCode::DefinitionInvalid,
                "`arguments` must be an array".to_owned(),
            )),
        }
    }

    /// The prompt's required arguments that are absent from `given`.
    pub fn missing_arguments(&self, given: &Map<String, Value>) -> Vec<&str> {
        self.arguments()
            .unwrap_or_default()
            .iter()
            .filter(|argument| argument.get("required") == Some(&Value::Bool(true)))
            .filter_map(|argument| argument.get("name").and_then(Value::as_str))
            .filter(|name| !given.contains_key(*name))
            .collect()
    }
}

/// Checks that a URI has a scheme (RFC 3986 section 3), is not too long, and is not one of the
/// bridge's own.
fn check_uri(uri: &str) -> Result<(), DefinitionError> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let fits = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    if uri.len() > MAX_URI_BYTES {
        let message = format!(
            "the URI has {} bytes, and {MAX_URI_BYTES} is the limit: shorten it",
            uri.len()
        );
        return Err((ErrorCode::DefinitionInvalid, message));
    }
    if !scheme.is_some_and(fits) || uri.chars().any(|c| c.is_whitespace() || c.is_control()) {
        let message = "it is not a URI: write it as `scheme:…`, such as `board://cards`".to_owned();
        return Err((ErrorCode::DefinitionInvalid, message));
    }
    if is_builtin_resource(uri) {
        let message = format!("`{uri}` is a resource of the bridge itself: choose another URI");
        return Err((ErrorCode::DefinitionInvalid, message));
    }
    Ok(())
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
        let listed = PublishedItem::parse(raw, "uriTemplate")?;
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
