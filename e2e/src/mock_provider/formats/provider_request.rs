//! A request to the mock provider, and the error that rejects it.

use http::HeaderMap;
use serde_json::Value;

/// The only key that the mock provider accepts.
pub(in crate::mock_provider) const KEY: &str = "sk-of-the-mock-provider-0123456789abcdef";

/// A request as it arrived.
pub(in crate::mock_provider) struct ProviderRequest<'a> {
    pub(in crate::mock_provider) headers: &'a HeaderMap,
    pub(in crate::mock_provider) body: &'a Value,
    /// The name of the model, if the path contains it.
    pub(in crate::mock_provider) model: Option<&'a str>,
    pub(in crate::mock_provider) query: &'a str,
}

impl ProviderRequest<'_> {
    pub(in crate::mock_provider) fn model(&self) -> &str {
        self.model
            .or(self.body["model"].as_str())
            .unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An error response in the shape of the provider.
#[derive(Debug, PartialEq)]
pub(in crate::mock_provider) struct ProviderError {
    pub(in crate::mock_provider) status: u16,
    pub(in crate::mock_provider) body: Value,
}

/// Returns the elements of an array; an empty slice for any other value.
pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the keyword of a schema's root that is in this list.
pub(super) fn root_keyword<'a>(schema: &Value, keywords: &[&'a str]) -> Option<&'a str> {
    let mut keywords = keywords.iter();
    keywords
        .find(|keyword| schema.get(**keyword).is_some())
        .copied()
}

/// Returns the string in a value, unless it is empty.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}
