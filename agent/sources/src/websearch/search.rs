//! The arguments and the results of a search.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain_text::plain_text;
use crate::http_api::ApiError;

/// The maximum number of results, which is that of Brave and Tavily.
pub(super) const MAX_COUNT: usize = 20;

const MAX_TITLE_CHARS: usize = 200;

const MAX_SNIPPET_CHARS: usize = 1000;

const MAX_URL_BYTES: usize = 2048;

/// The arguments of a search.
#[derive(Debug, Deserialize)]
pub(super) struct SearchArguments {
    pub(super) query: String,
    #[serde(default = "default_count")]
    pub(super) count: usize,
    pub(super) freshness: Option<Freshness>,
}

pub(super) fn default_count() -> usize {
    10
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

/// A result of a search, as a model reads it: plain text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct SearchResult {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

impl SearchResult {
    /// Creates a result from an item of an API. `None` if it has no address that a person can open.
    pub(super) fn from_item(item: &Value, snippet: &str) -> Option<Self> {
        let field = |name: &str| item[name].as_str().unwrap_or_default();
        let url = Url::parse(field("url")).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty();
        (is_web && url.as_str().len() <= MAX_URL_BYTES).then(|| Self {
            title: plain_text(field("title"), MAX_TITLE_CHARS),
            url: url.into(),
            snippet: plain_text(field(snippet), MAX_SNIPPET_CHARS),
        })
    }

    /// Creates results from the items of an API that has the snippets in this field.
    pub(super) fn from_items(items: &Value, snippet: &str) -> Result<Vec<Self>, ApiError> {
        let items = items.as_array().ok_or_else(ApiError::unreadable)?.iter();
        let results = items.filter_map(|item| Self::from_item(item, snippet));
        Ok(results.take(MAX_COUNT).collect())
    }
}
