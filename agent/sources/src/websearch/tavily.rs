//! The API of Tavily: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use agent_tools::{CallOutput, ToolEffect};
use http::Method;
use serde_json::json;

use super::search::{SearchArguments, SearchResult};
use crate::http_api::{ApiError, HttpApi};

pub(super) async fn search(
    api: &HttpApi,
    arguments: &SearchArguments,
) -> Result<Vec<SearchResult>, CallOutput> {
    let mut body = json!({ "query": arguments.query, "topic": "general",
        "max_results": arguments.count });
    if let Some(freshness) = arguments.freshness {
        body["time_range"] = json!(freshness);
    }
    let request = api.request(Method::POST, &["search"], &[]).json(&body);
    let sent = api.send(request).await;
    let found = sent.and_then(|it| SearchResult::from_items(&it.body["results"], "content"));
    found.map_err(|error| match error {
        // The limit of the plan, or of what is paid, is exceeded.
        ApiError::Refused(response) if matches!(response.status.as_u16(), 432 | 433) => {
            api.warn("the plan is used up");
            api.rate_limited(None)
        }
        error => api.failed(&error, ToolEffect::Read),
    })
}
