//! Which node owns a user, as each node sees it.

use serde_json::{Value, json};

use crate::{ClusterBed, PlainHttp, poll_pause, with_deadline};

/// Waits until all nodes agree on the owner of a token, which has this many pages.
pub(super) async fn wait_for_one_owner(bed: &ClusterBed, nodes: usize, token: &str, pages: usize) {
    let agreed = async {
        loop {
            let mut statuses = Vec::new();
            for node in 0..nodes {
                statuses.push(read_status(bed, node, token).await);
            }
            let first = &statuses[0];
            let is_whole = first["pages"] == pages && first["node"].is_string();
            if is_whole && statuses.iter().all(|status| status == first) {
                return;
            }
            poll_pause().await;
        }
    };
    with_deadline("all nodes to agree on an owner with all pages", agreed).await;
}

/// Returns the pages and the node of a token, or null if the node cannot say so now.
pub(super) async fn read_status(bed: &ClusterBed, node: usize, token: &str) -> Value {
    let client = PlainHttp::new(bed.node(node)).with_token(token);
    let status = client.call("get_connection_status", json!({})).await;
    let status = status.unwrap_or_default();
    let content = &status["structuredContent"];
    json!({ "pages": content["pages"], "node": content["node"] })
}
