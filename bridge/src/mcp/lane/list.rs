//! `tools/list`: put together from what was encoded once for each definition.

use std::sync::LazyLock;

use axum::response::Response;
use bridge_protocol::Kind;
use http::StatusCode;

use super::call::{begin, json};
use super::request::Request;
use super::stream;
use crate::definition::Definition;
use crate::mcp::convert;
use crate::meta_tools;

/// The bridge's own tools.
static OWN: LazyLock<Vec<Box<str>>> = LazyLock::new(|| {
    let own = meta_tools::DEFINITIONS.iter();
    own.filter_map(convert::listed).collect()
});

pub(super) fn serve(request: &Request<'_>) -> Option<Response> {
    let params = request.params;
    let is_other = request.known.result_size_to_publish().is_some();
    if params.name.is_some() || params.arguments.is_some() || is_other {
        return None;
    }
    let hub = &request.edge.hub;
    let published = hub.read(request.principal.realm, |realm| realm.published(Kind::Tool));
    let answer = listed(request, &published.unwrap_or_default());
    let _open = request.session.as_ref().map(|session| session.open());
    Some(match request.events_only {
        true => stream::whole(answer.into()),
        false => json(StatusCode::OK, answer),
    })
}

fn listed(request: &Request<'_>, published: &[Definition]) -> Vec<u8> {
    let is_modern = request.is_modern();
    let pages = published.iter().filter_map(|definition| match definition {
        Definition::Tool(tool) => tool.listed(is_modern, convert::listed),
        _ => None,
    });
    let tools: Vec<&str> = OWN.iter().map(AsRef::as_ref).chain(pages).collect();
    let room = tools.iter().map(|tool| tool.len() + 1).sum();
    let mut out = begin(request.id, room);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        // As rmcp fills them in: nobody may keep what a page can change at any time.
        let hints = br#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;
        out.extend_from_slice(hints);
    }
    out.extend_from_slice(b"\"tools\":[");
    for (place, tool) in tools.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(tool.as_bytes());
    }
    out.extend_from_slice(b"]}}");
    out
}
