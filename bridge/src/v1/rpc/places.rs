//! Where a call or the reading of a resource goes.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, SessionId};
use serde_json::json;

use crate::realm::{Dialect, Request, Served, Session};
use crate::tool::Tool;
use crate::v1::pages::{Pages, Wanted};
use crate::v1::results::{self, Results};
use crate::v1::shapes::{self, CallRefused};

/// Where a request goes.
pub(super) struct Place<T> {
    pub(super) session: SessionId,
    pub(super) dialect: Dialect,
    pub(super) what: T,
}

/// A place, or what answers at once.
pub(super) type Found<T> = Result<Place<T>, Vec<u8>>;

impl<T> Place<T> {
    fn of(id: &SessionId, page: &Session, what: T) -> Self {
        Self {
            session: id.clone(),
            dialect: page.dialect(),
            what,
        }
    }
}

/// Where a call goes, or what answers it at once.
pub(super) fn place(
    pages: Pages<'_>,
    name: Option<&str>,
    wanted: &Wanted,
    results: Results,
) -> Found<Arc<Tool>> {
    let mut answer = Vec::new();
    let refused = match name {
        None => CallRefused::because(ErrorCode::ToolNameRequired),
        Some(name) => match (pages.allows(name), pages.meant(wanted)) {
            (Err(allowed), _) => CallRefused::not_allowed(allowed),
            (Ok(()), _) if name == shapes::LIST_SESSIONS && !pages.have_tool(name) => {
                results.told(&json!({ "sessions": pages.entries() }), &mut answer);
                return Err(answer);
            }
            (Ok(()), None) => CallRefused::session(pages),
            (Ok(()), Some((id, page))) => match page.tool(name) {
                Some(tool) => return Ok(Place::of(id, page, Arc::clone(tool))),
                None => CallRefused::tool(page),
            },
        },
    };
    results.refused(&refused, &mut answer);
    Err(answer)
}

/// Which page reads a resource, or what answers at once.
pub(super) fn resource(pages: Pages<'_>, uri: Option<&str>, wanted: &Wanted) -> Found<Request> {
    let not_read = |why| {
        let mut answer = Vec::new();
        results::not_read(why, &mut answer);
        answer
    };
    let uri = match uri {
        None => return Err(not_read("Resource URI is required")),
        Some(bridge_protocol::SESSIONS_URI) => {
            let sessions = json!(pages.entries());
            return Err(own_resource(bridge_protocol::SESSIONS_URI, &sessions));
        }
        Some(uri) => uri,
    };
    let found = match pages.meant(wanted) {
        Some((id, page)) => page.serving(uri).map(|served| (id, page, served)),
        None => pages
            .each()
            .find_map(|(id, page)| Some((id, page, page.serving(uri)?))),
    };
    let (id, page, served) = found.ok_or_else(|| not_read("Resource not found"))?;
    let template = match served {
        Served::Itself => None,
        Served::Through(template, variables) => Some((template, variables)),
    };
    let uri = uri.to_owned();
    Ok(Place::of(id, page, Request::Resource { uri, template }))
}

/// The content of a resource of the bridge's own, printed with two spaces.
pub(super) fn own_resource(uri: &str, content: &serde_json::Value) -> Vec<u8> {
    let text = format!("{content:#}");
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    json!({ "contents": [content] }).to_string().into_bytes()
}
