//! The API of Brave Search: <https://api-dashboard.search.brave.com/api-reference/web/search/get>.

use std::time::Duration;

use agent_tools::{CallOutput, ToolEffect};
use http::header::ACCEPT;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use super::search::{Freshness, SearchArguments, SearchResult};
use crate::http_api::{ApiError, HttpApi, retry_after};

pub(super) async fn search(
    api: &HttpApi,
    arguments: &SearchArguments,
) -> Result<Vec<SearchResult>, CallOutput> {
    let count = arguments.count.to_string();
    let mut query = vec![("q", arguments.query.as_str()), ("count", &count)];
    query.extend([("result_filter", "web"), ("text_decorations", "false")]);
    query.extend(arguments.freshness.map(|it| ("freshness", age(it))));
    let segments = ["res", "v1", "web", "search"];
    let request = api.request(Method::GET, &segments, &query);
    let sent = api.send(request.header(ACCEPT, "application/json")).await;
    let found = sent.and_then(|response| match &response.body["web"] {
        // Nothing was found.
        Value::Null if response.body["type"] == "search" => Ok(Vec::new()),
        web => SearchResult::from_items(&web["results"], "description"),
    });
    found.map_err(|error| match error {
        ApiError::Refused(response) if response.status == StatusCode::TOO_MANY_REQUESTS => {
            api.rate_limited(wait(&response.headers))
        }
        error => api.failed(&error, ToolEffect::Read),
    })
}

fn age(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Day => "pd",
        Freshness::Week => "pw",
        Freshness::Month => "pm",
        Freshness::Year => "py",
    }
}

/// Returns the time until the limit resets that is exceeded. There is one for a second and one for a
/// month, which is 0 if the plan has none: `X-RateLimit-Limit: 1, 15000`, `X-RateLimit-Remaining: 0,
/// 14999` and `X-RateLimit-Reset: 1, 1419704`.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let numbers = |name: &str| -> Vec<u64> {
        let text = headers.get(name).and_then(|value| value.to_str().ok());
        let numbers = text.unwrap_or_default().split(',');
        numbers.filter_map(|it| it.trim().parse().ok()).collect()
    };
    let limits = numbers("x-ratelimit-limit").into_iter();
    let limits = limits.zip(numbers("x-ratelimit-remaining"));
    let exceeded = limits
        .zip(numbers("x-ratelimit-reset"))
        .filter(|((limit, remaining), _)| *limit > 0 && *remaining == 0);
    let seconds = exceeded.map(|(_, seconds)| seconds).max();
    seconds
        .map(Duration::from_secs)
        .or_else(|| retry_after(headers))
}
