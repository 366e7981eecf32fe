//! The API of SearXNG: <https://docs.searxng.org/dev/search_api.html>.

use agent_tools::{CallOutput, ToolEffect};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::search::{MAX_COUNT, SearchArguments, SearchResult};
use crate::http_api::{ApiError, HttpApi, short_line};

/// How many pages are requested at most. Their size depends on the engines of the instance, and most
/// have more than ten results.
const MAX_PAGES: usize = 3;

pub(super) async fn search(
    api: &HttpApi,
    arguments: &SearchArguments,
) -> Result<Vec<SearchResult>, CallOutput> {
    let mut results: Vec<SearchResult> = Vec::new();
    for page in 1..=MAX_PAGES {
        let found = match fetch(api, arguments, page).await {
            Ok(found) => found,
            // The pages before are an answer.
            Err(_) if page > 1 => break,
            Err(error) => return Err(failed(api, &error)),
        };
        let count = results.len();
        for result in found {
            if results.iter().all(|it| it.url != result.url) {
                results.push(result);
            }
        }
        if results.len() == count || results.len() >= arguments.count {
            break;
        }
    }
    Ok(results)
}

async fn fetch(
    api: &HttpApi,
    arguments: &SearchArguments,
    page: usize,
) -> Result<Vec<SearchResult>, ApiError> {
    let (page, freshness) = (page.to_string(), json!(arguments.freshness));
    let mut query = vec![("q", arguments.query.as_str()), ("format", "json")];
    query.push(("pageno", &page));
    query.extend(freshness.as_str().map(|it| ("time_range", it)));
    let request = api.request(Method::GET, &["search"], &query);
    let body = api.send(request).await?.body;
    let items = body["results"]
        .as_array()
        .ok_or_else(ApiError::unreadable)?;
    // Engines for databases have the fields below `kvmap`.
    let item = |item: &Value| match item["url"].as_str() {
        Some(_) => SearchResult::from_item(item, "content"),
        None => SearchResult::from_item(&item["kvmap"], "content"),
    };
    let engines = body["unresponsive_engines"]
        .as_array()
        .into_iter()
        .flatten();
    let engines: Vec<_> = engines.filter_map(|engine| engine[0].as_str()).collect();
    if items.is_empty() && !engines.is_empty() {
        let problem = format!("its engines did not respond: {}", engines.join(", "));
        return Err(ApiError::NoResponse(short_line(&problem)));
    }
    Ok(items.iter().filter_map(item).take(MAX_COUNT).collect())
}

fn failed(api: &HttpApi, error: &ApiError) -> CallOutput {
    match error {
        // It has no keys, and answers so if the format is not enabled.
        ApiError::Refused(response) if response.status == StatusCode::FORBIDDEN => {
            let problem = "JSON is disabled (HTTP 403): add `json` to `search.formats` in the \
                           settings.yml of SearXNG";
            api.warn(problem);
            CallOutput::from_error(format!(
                "The search cannot be used: {problem}. Continue without it, or tell the operator."
            ))
        }
        error => api.failed(error, ToolEffect::Read),
    }
}
