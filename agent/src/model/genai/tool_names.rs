//! Names of tools, as they go to a provider.

use std::borrow::Cow;

use crate::model::{Provider, Tool};

/// A page's tool of these names would become a tool of the provider's own: genai goes by the name.
const GEMINI_BUILTIN_TOOLS: [&str; 4] = [
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
];

/// Whether a page's tool cannot have this name there.
fn is_reserved(provider: Provider, name: &str) -> bool {
    match provider {
        Provider::Anthropic => name == "web_search",
        // https://ai.google.dev/api/caching#FunctionDeclaration: it begins with a letter or _.
        Provider::Gemini => {
            GEMINI_BUILTIN_TOOLS.contains(&name)
                || !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        }
        Provider::Openai | Provider::Ollama | Provider::Commands => false,
    }
}

const PREFIX: &str = "page_";

/// What the provider calls a tool.
pub(super) fn to_provider(provider: Provider, name: &str) -> Cow<'_, str> {
    match is_reserved(provider, name) {
        true => Cow::Owned(format!("{PREFIX}{name}")),
        false => Cow::Borrowed(name),
    }
}

/// What the page calls a tool that the provider calls so.
pub(super) fn from_provider(provider: Provider, name: String, tools: &[Tool]) -> String {
    let Some(ours) = name.strip_prefix(PREFIX) else {
        return name;
    };
    let is_one = |wanted: &str| tools.iter().any(|tool| tool.name == wanted);
    match is_reserved(provider, ours) && !is_one(&name) && is_one(ours) {
        true => ours.to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reserved_tool_names_are_prefixed_and_mapped_back() {
        let tools = ["web_search", "page_add", "add"].map(|name| Tool {
            name: name.to_owned(),
            description: None,
            input_schema: json!({}),
        });
        let back = |name: &str| from_provider(Provider::Anthropic, name.to_owned(), &tools);
        assert_eq!(
            to_provider(Provider::Anthropic, "web_search"),
            "page_web_search"
        );
        assert_eq!(to_provider(Provider::Openai, "web_search"), "web_search");
        assert_eq!(
            to_provider(Provider::Gemini, "urlContext"),
            "page_urlContext"
        );
        assert_eq!(to_provider(Provider::Gemini, "2nd"), "page_2nd");
        assert_eq!(to_provider(Provider::Gemini, "_2nd"), "_2nd");
        assert_eq!(to_provider(Provider::Anthropic, "page_add"), "page_add");
        assert_eq!(back("page_web_search"), "web_search");
        assert_eq!(back("page_add"), "page_add");
        assert_eq!(back("add"), "add");
    }
}
