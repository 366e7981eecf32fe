//! Routing of calls and resource reads to a page.

use std::sync::Arc;

use bridge_compat::call_rejection::CallRejection;
use bridge_compat::lists::LIST_SESSIONS;
use bridge_compat::page_selector::PageSelector;
use bridge_compat::results::{self, ResultWriter};
use bridge_protocol::{ErrorCode, SessionId};
use serde_json::json;

use crate::compat::lists;
use crate::compat::visible_pages::VisiblePages;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{PageAbilities, PageRequest, ResourceMatch, Session};

/// The page that receives a request, with the requested item of that page.
pub(super) struct CallTarget<T> {
    pub(super) session: SessionId,
    pub(super) abilities: PageAbilities,
    pub(super) item: T,
}

/// The target of a request, or the encoded result that answers it without a page.
pub(super) type RoutingResult<T> = Result<CallTarget<T>, Vec<u8>>;

impl<T> CallTarget<T> {
    fn new(id: &SessionId, page: &Session, item: T) -> Self {
        Self {
            session: id.clone(),
            abilities: page.abilities(),
            item,
        }
    }
}

/// Routes a tool call, or returns the result that answers it.
pub(super) fn route_call(
    pages: VisiblePages<'_>,
    name: Option<&str>,
    selector: &PageSelector,
    results: ResultWriter,
) -> RoutingResult<Arc<SharedTool>> {
    let mut answer = Vec::new();
    let rejection = match name {
        None => CallRejection::from_code(ErrorCode::ToolNameRequired),
        Some(name) => match (pages.check_tool_allowed(name), pages.selected(selector)) {
            (Err(allowed), _) => CallRejection::tool_not_allowed(allowed),
            (Ok(()), _) if name == LIST_SESSIONS && !pages.has_tool(name) => {
                results.write_success(&json!({ "sessions": pages.entries() }), &mut answer);
                return Err(answer);
            }
            (Ok(()), None) => lists::unresolved_session(pages),
            (Ok(()), Some((id, page))) => match page.tool(name) {
                Some(tool) => return Ok(CallTarget::new(id, page, Arc::clone(tool))),
                None => CallRejection::unknown_tool(pages.tool_names(page)),
            },
        },
    };
    results.write_error(&rejection, &mut answer);
    Err(answer)
}

/// Routes a resource read, or returns the result that answers it.
pub(super) fn route_resource(
    pages: VisiblePages<'_>,
    uri: Option<&str>,
    selector: &PageSelector,
) -> RoutingResult<PageRequest> {
    let read_error = |message| {
        let mut answer = Vec::new();
        results::write_read_error(message, &mut answer);
        answer
    };
    let uri = match uri {
        None => return Err(read_error("Resource URI is required")),
        Some(bridge_protocol::SESSIONS_URI) => {
            let sessions = json!(pages.entries());
            return Err(builtin_resource(bridge_protocol::SESSIONS_URI, &sessions));
        }
        Some(uri) => uri,
    };
    let found = match pages.selected(selector) {
        Some((id, page)) => page.match_resource(uri).map(|matched| (id, page, matched)),
        None => pages
            .iter()
            .find_map(|(id, page)| Some((id, page, page.match_resource(uri)?))),
    };
    let (id, page, matched) = found.ok_or_else(|| read_error("Resource not found"))?;
    let template = match matched {
        ResourceMatch::Exact => None,
        ResourceMatch::Template(template, variables) => Some((template, variables)),
    };
    let uri = uri.to_owned();
    Ok(CallTarget::new(
        id,
        page,
        PageRequest::Resource { uri, template },
    ))
}

/// The contents of a built-in resource, as JSON indented by two spaces.
pub(super) fn builtin_resource(uri: &str, content: &serde_json::Value) -> Vec<u8> {
    let text = format!("{content:#}");
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    json!({ "contents": [content] }).to_string().into_bytes()
}
