//! Maps the names of tools to names that a provider accepts, and back.

use std::borrow::Cow;

use crate::model::{ModelTool, Provider};

/// The names of Gemini's own tools. genai would treat a page's tool with one of these names as one
/// of them.
const GEMINI_BUILTIN_TOOLS: [&str; 4] = [
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
];

/// Returns whether a page's tool cannot have this name at the provider.
fn is_reserved(provider: Provider, name: &str) -> bool {
    match provider {
        Provider::Anthropic => name == "web_search",
        // https://ai.google.dev/api/caching#FunctionDeclaration: a name begins with a letter or _.
        Provider::Gemini => {
            GEMINI_BUILTIN_TOOLS.contains(&name)
                || !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        }
        Provider::Openai | Provider::Ollama | Provider::Commands => false,
    }
}

/// The prefix of a name that is reserved at the provider.
const PREFIX: &str = "page_";

/// Maps the name of a page's tool to its name at the provider.
pub(super) fn to_provider(provider: Provider, name: &str) -> Cow<'_, str> {
    if is_reserved(provider, name) {
        Cow::Owned(format!("{PREFIX}{name}"))
    } else {
        Cow::Borrowed(name)
    }
}

/// Maps the name of a tool at the provider to its name in the page.
pub(super) fn from_provider(provider: Provider, name: String, tools: &[ModelTool]) -> String {
    let Some(page_name) = name.strip_prefix(PREFIX) else {
        return name;
    };
    let is_tool = |name: &str| tools.iter().any(|tool| tool.name == name);
    if is_reserved(provider, page_name) && !is_tool(&name) && is_tool(page_name) {
        page_name.to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reserved_tool_names_are_prefixed_and_mapped_back() {
        let tools = ["web_search", "page_add", "add"].map(|name| ModelTool {
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
