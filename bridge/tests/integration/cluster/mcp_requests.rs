//! The table of MCP requests, asked at the owner of a realm and at another bridge.

use super::exchange::RawRequest;
use super::kit::*;
use crate::kit::*;
use crate::mcp_answers::Clients;
use crate::mcp_answers::request::Request;
use crate::mcp_answers::rows::rows;

fn to_raw(request: &Request) -> RawRequest {
    let mut raw = RawRequest::new(request.method.as_str(), "/mcp").body(request.body.clone());
    if let Some(token) = request.token {
        raw = raw.token(token);
    }
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_owned()));
    raw.headers.extend(headers);
    raw
}

#[tokio::test]
async fn each_kind_of_mcp_request_is_answered_as_by_the_owner() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let clients = Clients::connect(owner).await;
    // The realm of the other token in the table belongs to the same bridge.
    let _other = Page::connect(owner, "other", OTHER_TOKEN).await;
    let before = forwards(edge, "ok").await;
    let mut passed_on = 0.0;
    for row in rows() {
        for client in row.clients {
            let request = clients.request(*client, row.method, &row.params);
            let request = (row.change)(request);
            passed_on += f64::from(u8::from(request.token.is_some_and(is_valid)));
            let raw = to_raw(&request);
            let at_owner = raw.send(owner.local_addr()).await;
            let at_edge = raw.send(edge.local_addr()).await;
            assert_eq!(at_edge, at_owner, "{client:?}: {}", row.name);
        }
    }
    assert!(passed_on > 500.0, "{passed_on}");
    assert_eq!(forwards(edge, "ok").await - before, passed_on);
}

fn is_valid(token: &str) -> bool {
    [TOKEN, OTHER_TOKEN].contains(&token)
}
