//! A tool in a request, and its name at the provider.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::api::Api;

/// A tool as the provider gets it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct WireTool {
    /// The name that the provider gets.
    pub(in crate::model) sent_name: String,
    /// The name that the service knows.
    pub(in crate::model) own_name: String,
    pub(in crate::model) description: String,
    /// A JSON Schema whose root is an object, in the dialect of the API.
    pub(in crate::model) schema: Value,
}

/// The prefix of a name that the API does not accept.
const PREFIX: &str = "page_";

/// Returns the own name of a tool that a provider names.
pub(in crate::model) fn own_name<'a>(sent_name: &'a str, tools: &'a [WireTool]) -> &'a str {
    let tool = tools.iter().find(|tool| tool.sent_name == sent_name);
    tool.map_or(sent_name, |tool| &tool.own_name)
}

/// Returns the name at the provider of a tool.
pub(in crate::model) fn sent_name(api: Api, own_name: &str) -> Cow<'_, str> {
    // https://ai.google.dev/api/caching#FunctionDeclaration: a name begins with a letter or _.
    let is_accepted = |first: char| first.is_ascii_alphabetic() || first == '_';
    if api == Api::Gemini && !own_name.starts_with(is_accepted) {
        Cow::Owned(format!("{PREFIX}{own_name}"))
    } else {
        Cow::Borrowed(own_name)
    }
}
