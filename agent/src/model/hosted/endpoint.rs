//! Chooses where a model is called.

use url::Url;

use crate::model::Provider;

/// Returns the URL below which the API of a provider is called, and whether it is the provider's own.
pub(super) fn choose(provider: Provider, base_url: Option<&Url>) -> (Url, bool) {
    let official = official_url(provider);
    let url = match base_url {
        // Ollama has chat completions below this path.
        Some(url) if provider == Provider::Ollama && url.path() == "/" => url.join("v1/").ok(),
        url => url.cloned(),
    };
    let url = url.unwrap_or_else(|| official.clone());
    let is_official = is_of_provider(&url, &official);
    (url, is_official)
}

/// Returns whether a URL is that of the provider, also in one of its regions: `eu.api.openai.com`.
fn is_of_provider(url: &Url, official: &Url) -> bool {
    let (Some(host), Some(official)) = (url.host_str(), official.host_str()) else {
        return false;
    };
    let region = host.strip_suffix(official);
    region.is_some_and(|region| region.is_empty() || region.ends_with('.'))
}

/// Returns the URL of the provider's own API.
fn official_url(provider: Provider) -> Url {
    let url = match provider {
        Provider::Anthropic => "https://api.anthropic.com/v1/",
        Provider::Openai => "https://api.openai.com/v1/",
        Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        Provider::Ollama | Provider::Commands => "http://localhost:11434/v1/",
    };
    url.parse().expect("the URLs above are valid")
}
