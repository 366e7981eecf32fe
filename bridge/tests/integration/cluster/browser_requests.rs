//! Answers of a bridge that passes requests on, as far as pages of other origins can read them.

use super::exchange::{RawRequest, RawResponse};
use super::kit::*;
use super::stand_in::announce_unreachable_owner;
use crate::kit::*;

const ORIGIN: &str = "http://localhost:5173";

fn from_page(token: &str) -> RawRequest {
    RawRequest::new("GET", "/tools")
        .token(token)
        .header("origin", ORIGIN)
}

/// The headers that let a browser show a response to a page.
fn cors_headers(response: &RawResponse) -> Vec<&String> {
    let headers = response.headers.iter();
    headers
        .filter(|it| it.starts_with("access-control-") || it.starts_with("vary:"))
        .collect()
}

#[tokio::test]
async fn a_page_can_read_why_its_request_was_not_passed_on() {
    let bridges = Bridges::start_with(1, |_, config| {
        config.cluster.max_cluster_lookups = 1;
    })
    .await;
    let edge = bridges.nodes[0].local_addr();
    let (_view, _port) = announce_unreachable_owner(&bridges).await;
    let unreachable = from_page(TOKEN).send(edge).await;
    assert_eq!(unreachable.code(), 503, "{unreachable:?}");

    let by_router = from_page(OTHER_TOKEN).send(edge).await;
    assert_eq!(by_router.code(), 200, "{by_router:?}");
    let too_many = from_page("token-that-no-bridge-serves-012345");
    let too_many = too_many.send(edge).await;
    assert_eq!(too_many.code(), 429, "{too_many:?}");

    let expected = cors_headers(&by_router);
    assert!(
        expected.iter().any(|it| it.ends_with(ORIGIN)),
        "{expected:?}"
    );
    assert_eq!(cors_headers(&unreachable), expected);
    assert_eq!(cors_headers(&too_many), expected);
}
