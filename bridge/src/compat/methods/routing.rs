//! Where a call or the reading of a resource goes.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, SessionId};
use serde_json::json;

use crate::calls::LEGACY_LIST_SESSIONS;
use crate::compat::lists::CallRejection;
use crate::compat::results;
use crate::compat::results::ResultWriter;
use crate::compat::visible_pages::{PageSelector, VisiblePages};
use bridge_realm::definition::tool::Tool;
use bridge_realm::realm::{PageProtocol, PageRequest, ResourceMatch, Session};

/// Where a request goes.
pub(super) struct CallTarget<T> {
    pub(super) session: SessionId,
    pub(super) dialect: PageProtocol,
    pub(super) item: T,
}

/// A place, or what answers at once.
pub(super) type RoutingResult<T> = Result<CallTarget<T>, Vec<u8>>;

impl<T> CallTarget<T> {
    fn new(id: &SessionId, page: &Session, item: T) -> Self {
        Self {
            session: id.clone(),
            dialect: page.protocol(),
            item,
        }
    }
}

/// Where a call goes, or what answers it at once.
pub(super) fn route_call(
    pages: VisiblePages<'_>,
    name: Option<&str>,
    selector: &PageSelector,
    results: ResultWriter,
) -> RoutingResult<Arc<Tool>> {
    let mut answer = Vec::new();
    let rejection = match name {
        None => CallRejection::from_code(ErrorCode::ToolNameRequired),
        Some(name) => match (pages.check_tool_allowed(name), pages.selected(selector)) {
            (Err(allowed), _) => CallRejection::tool_not_allowed(allowed),
            (Ok(()), _) if name == LEGACY_LIST_SESSIONS && !pages.has_tool(name) => {
                results.write_success(&json!({ "sessions": pages.entries() }), &mut answer);
                return Err(answer);
            }
            (Ok(()), None) => CallRejection::unresolved_session(pages),
            (Ok(()), Some((id, page))) => match page.tool(name) {
                Some(tool) => return Ok(CallTarget::new(id, page, Arc::clone(tool))),
                None => CallRejection::unknown_tool(page),
            },
        },
    };
    results.write_error(&rejection, &mut answer);
    Err(answer)
}

/// Which page reads a resource, or what answers at once.
pub(super) fn route_resource(
    pages: VisiblePages<'_>,
    uri: Option<&str>,
    selector: &PageSelector,
) -> RoutingResult<PageRequest> {
    let read_error = |why| {
        let mut answer = Vec::new();
        results::write_read_error(why, &mut answer);
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
    let match_ = match pages.selected(selector) {
        Some((id, page)) => page.match_resource(uri).map(|matched| (id, page, matched)),
        None => pages
            .iter()
            .find_map(|(id, page)| Some((id, page, page.match_resource(uri)?))),
    };
    let (id, page, matched) = match_.ok_or_else(|| read_error("Resource not found"))?;
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

/// The content of a resource of the bridge's own, printed with two spaces.
pub(super) fn builtin_resource(uri: &str, content: &serde_json::Value) -> Vec<u8> {
    let text = format!("{content:#}");
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    json!({ "contents": [content] }).to_string().into_bytes()
}
