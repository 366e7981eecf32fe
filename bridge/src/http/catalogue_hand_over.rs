//! `POST /_cluster/hand-over`: the catalogue of a realm that another bridge gives away.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bridge_cluster::Verdict;
use bridge_edge::body::read_to_end_limited;
use http::{Request, StatusCode};

use super::RequestHandler;
use super::peer_body::{PeerBody, UnreadBody};
use crate::budget::WorkOrder;
use crate::cluster::{CatalogueHandOver, ClusterNode, NotOwner, PeerRequest};

/// The maximum size of a catalogue beyond its definitions: names, and about 50 bytes around each definition.
const MAX_OVERHEAD_BYTES: usize = 512 * 1024;

impl RequestHandler {
    /// Adds a catalogue that another bridge hands over to that of its realm, which this one claims if it
    /// has no owner.
    pub(super) async fn take_catalogue<B>(
        &self,
        cluster: &Arc<ClusterNode>,
        request: Request<PeerBody<B>>,
        peer: PeerRequest,
    ) -> Response
    where
        B: UnreadBody,
        B::Error: Into<axum::BoxError>,
    {
        let hub = &self.state.hub;
        let (head, body) = request.into_parts();
        let max_bytes = hub.config.page_limits.catalogue_bytes_per_token() + MAX_OVERHEAD_BYTES;
        let Ok(body) = read_to_end_limited(body, max_bytes).await else {
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        };
        let handed_over = CatalogueHandOver::decode(head.uri.query(), &body).ok();
        let realm = handed_over.as_ref().and_then(CatalogueHandOver::realm);
        let (Some(handed_over), Some(realm), Some(key)) = (handed_over, realm, peer.realm) else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let _guard = match cluster.check_request(key, realm, peer, false).await {
            Ok(guard) => guard,
            Err(not_owner) => return not_owner.into_response(),
        };
        if cluster.claim(realm).await != Verdict::Owned {
            return NotOwner.into_response();
        }
        let order = WorkOrder::for_definitions(realm, handed_over.definition_bytes());
        let definitions = Arc::clone(hub);
        let parse = move || handed_over.parse(&definitions.definitions);
        let apps = match order {
            None => Ok(parse()),
            Some(order) => hub.budgets.cpu_pool.run_admitted(order, parse).await,
        };
        let added = apps.map(|apps| hub.closed_apps_handed_over(realm, peer.client, apps));
        match added {
            Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
            // The realm has been given away again, or its principal is denied.
            Ok(Err(_)) => NotOwner.into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}
