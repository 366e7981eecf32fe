//! Requests when several bridges serve as one: those of a realm that another node owns are passed on, and
//! those that another node passes on are served here.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bridge_auth::{RealmId, is_query_token};
use bridge_cluster::{Peer, PeerRefused, RealmKey};
use bridge_edge::{ClientAddress, OriginCheck};
use bridge_protocol::ErrorCode;
use bytes::Bytes;
use http::header::{CONNECTION, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};

use super::RequestHandler;
use super::peer_body::{PeerBody, UnreadBody};
use super::route_name::route_name;
use crate::budget::{Party, RefusalKind};
use crate::cluster::{
    ClusterNode, ForwardedResponse, HAND_OVER_PATH, HoldEnd, LinkBody, MAX_ATTEMPTS, NODE_REFUSED,
    NotForwarded, NotOwner, OwnerAway, PEER_ANSWER, PING_PATH, PassedOn, PeerRequest, REACHES,
    RealmGuard, Route, belongs_to_realm, is_kept, is_peer_route,
};
use crate::web::body::read_to_end_limited;
use crate::web::{HttpRequestId, Problem, REQUEST_ID, guard};

/// The message to a client whose bridge cannot connect to this one.
const LISTENER_FULL: &str = "the bridge that serves this token has as many connections as it may, and the \
                             request has not run: retry, or raise `max_connections`";

/// Where a request is served.
enum Destination {
    /// Here, as a request of a realm of this node if there is a guard.
    Here(Option<RealmGuard>),
    Elsewhere(RemoteOwner),
}

impl Destination {
    /// Fails if this node has given the realm away since the route was found.
    async fn new(
        cluster: &ClusterNode,
        route: Route,
        party: Party<RealmId>,
    ) -> Result<Self, NotForwarded> {
        let remote = match route {
            Route::Here => {
                let guard = cluster.begin_request(party.member).await;
                let guard = guard.ok_or(NotForwarded::NotRun)?;
                return Ok(Self::Here(Some(guard)));
            }
            Route::Unowned => cluster.successor_of(party.member),
            Route::Node(key, owner) => Some((key, owner)),
        };
        Ok(remote.map_or(Self::Here(None), |(key, owner)| {
            let realm = Some(key);
            Self::Elsewhere(RemoteOwner {
                realm,
                owner,
                party,
            })
        }))
    }
}

/// The other node that serves a request.
struct RemoteOwner {
    /// The realm that it owns. It has issued the query token of a request that has none.
    realm: Option<RealmKey>,
    owner: Peer,
    party: Party<RealmId>,
}

/// Why a request is not served.
enum NotRouted {
    OwnerAway(OwnerAway),
    /// The node of its query.
    IssuerAway(OwnerAway),
    /// Its token would have to be looked up, and too many of the client's address were found nowhere.
    TooManyLookups(Duration),
    /// This node has given its realm away, and nothing has run.
    GivenAway(NotForwarded),
}

impl From<OwnerAway> for NotRouted {
    fn from(away: OwnerAway) -> Self {
        Self::OwnerAway(away)
    }
}

impl RequestHandler {
    /// Responds to a request of a client, here or by the owner of its realm.
    pub(super) async fn respond_in_cluster<B>(
        &self,
        cluster: &Arc<ClusterNode>,
        request: Request<B>,
        address: ClientAddress,
        id: &HeaderValue,
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let browser_request = browser_request(&head);
        let route = route_name(self.without_public_path(&head.uri).path());
        let problem = match self.find_destination(cluster, &head, address).await {
            Ok(Destination::Here(_guard)) => {
                return self.respond(Request::from_parts(head, body), address).await;
            }
            Ok(Destination::Elsewhere(owned)) => {
                let body = Body::new(body);
                match self.pass_on(cluster, owned, head, body, address, id).await {
                    Ok(response) => return response,
                    Err(problem) => problem,
                }
            }
            Err(NotRouted::OwnerAway(away)) if self.serves_mcp(&head) => {
                head.extensions.insert(away);
                return self.respond(Request::from_parts(head, body), address).await;
            }
            Err(NotRouted::OwnerAway(away) | NotRouted::IssuerAway(away)) => away.into(),
            Err(NotRouted::TooManyLookups(after)) => Problem::too_many_lookups(after),
            Err(NotRouted::GivenAway(not_run)) => not_run.into(),
        };
        let mut response = problem.into_response();
        self.record_refusal(&mut response, address, route);
        match browser_request {
            Some(request) => self.with_cors(request.map(|()| response)).await,
            None => response,
        }
    }

    /// Returns the response in the body of a request with the headers that the router adds, without which
    /// a browser shows it to no page.
    async fn with_cors(&self, request: Request<Response>) -> Response {
        let inner =
            service_fn(async |request: Request<Response>| Ok::<_, Infallible>(request.into_body()));
        let cors = guard::cors(Arc::clone(&self.state.policy)).layer(inner);
        let responded = cors.oneshot(request).await;
        responded.unwrap_or_else(|never| match never {})
    }

    /// Finds the node that serves a request. A request that will be refused is served here, and one whose
    /// owner is gone waits for another owner.
    async fn find_destination(
        &self,
        cluster: &Arc<ClusterNode>,
        head: &Parts,
        address: ClientAddress,
    ) -> Result<Destination, NotRouted> {
        let state = &self.state;
        let uri = self.without_public_path(&head.uri);
        if !belongs_to_realm(uri.path())
            || is_page_socket(uri.path(), &head.method, &head.headers)
            || guard::check_host(state, &head.uri, &head.headers).is_err()
            || matches!(
                state.policy.check_origin(&head.uri, &head.headers),
                OriginCheck::Foreign(_)
            )
        {
            return Ok(Destination::Here(None));
        }
        let Some(token) = state.request_token(&head.headers, head.uri.query()) else {
            return Ok(Destination::Here(None));
        };
        if is_query_token(&token) {
            let issuer = cluster.issuer_of_query(&token).await;
            let issuer = issuer.map_err(NotRouted::IssuerAway)?;
            return Ok(issuer.map_or(Destination::Here(None), |owner| {
                Destination::Elsewhere(RemoteOwner {
                    realm: None,
                    owner,
                    // Only the other node knows the realm.
                    party: Party::new(address, RealmId::from_token(&token)),
                })
            }));
        }
        let Ok(principal) = state.authenticator.verify(Some(&token), address).await else {
            return Ok(Destination::Here(None));
        };
        let lookups = &state.hub.budgets.lookups;
        let party = Party::new(address, principal.realm);
        let known = cluster.known_route(principal.realm);
        if let Some(route) = known
            && let Ok(destination) = Destination::new(cluster, route, party).await
        {
            return Ok(destination);
        }
        if let Some(after) = lookups.retry_after(address) {
            return Err(NotRouted::TooManyLookups(after));
        }
        let end = HoldEnd::from_now();
        let mut attempts = 0..MAX_ATTEMPTS;
        loop {
            let found = self.find_route(cluster, head, party, None, end).await;
            // Without the directory, all other nodes are asked.
            if matches!(found, Ok(Route::Unowned) | Err(OwnerAway::Unknown)) {
                lookups.record(address);
            }
            let route = found?;
            attempts.next();
            match Destination::new(cluster, route, party).await {
                // The realm leaves, and the request waits for its next owner.
                Err(_) if !attempts.is_empty() => {}
                destination => return destination.map_err(NotRouted::GivenAway),
            }
        }
    }

    /// Finds the node that serves a realm. A request whose owner is gone is held, and one that its owner has
    /// not run unless there is another owner.
    async fn find_route(
        &self,
        cluster: &Arc<ClusterNode>,
        head: &Parts,
        party: Party<RealmId>,
        failed: Option<&Peer>,
        end: HoldEnd,
    ) -> Result<Route, OwnerAway> {
        let failed = match cluster.route(party.member).await {
            Ok(Route::Node(_, owner)) if Some(&owner) == failed => failed,
            Err(OwnerAway::Gone) if !self.serves_mcp(head) => None,
            route => return route,
        };
        Box::pin(cluster.hold(party, failed, end)).await
    }

    /// Passes a request on. One that has not run is sent to another owner, if its body is small.
    async fn pass_on(
        &self,
        cluster: &Arc<ClusterNode>,
        mut owned: RemoteOwner,
        mut head: Parts,
        body: Body,
        address: ClientAddress,
        id: &HeaderValue,
    ) -> Result<Response, Problem> {
        if !is_kept(&body) {
            let body = LinkBody::Right(body.map_err(Into::into).boxed_unsync());
            let owner = (owned.realm, &owned.owner);
            let sent = cluster.forward(owner, &head, body, address.ip(), id).await;
            return sent.map(to_response).map_err(Problem::from);
        }
        let (body, turn) = read_to_end_limited(&self.state, body, owned.party).await?;
        // The owner parses it.
        drop(turn);
        let mut end = None;
        for attempt in 1..=MAX_ATTEMPTS {
            let owner = (owned.realm, &owned.owner);
            let sent = cluster
                .forward(owner, &head, kept(body.clone()), address.ip(), id)
                .await;
            match sent {
                Ok(response) => return Ok(to_response(response)),
                Err(NotForwarded::NotRun) if attempt < MAX_ATTEMPTS => {}
                Err(failed) => return Err(failed.into()),
            }
            // The owner may have let it wait before.
            let end = *end.get_or_insert_with(HoldEnd::from_now);
            let found = match owned.realm {
                Some(_) => {
                    let failed = Some(&owned.owner);
                    self.find_route(cluster, &head, owned.party, failed, end)
                        .await
                }
                // It is refused here, as that of a query that has ended.
                None if cluster.is_gone(&owned.owner.id).await => {
                    let request = Request::from_parts(head, Body::from(body));
                    return Ok(self.respond(request, address).await);
                }
                None => break,
            };
            match found {
                Ok(route) => match Destination::new(cluster, route, owned.party).await? {
                    Destination::Elsewhere(other) => owned = other,
                    Destination::Here(_guard) => {
                        let request = Request::from_parts(head, Body::from(body));
                        return Ok(self.respond(request, address).await);
                    }
                },
                Err(away) if self.serves_mcp(&head) => {
                    head.extensions.insert(away);
                    head.extensions.insert(end);
                    let request = Request::from_parts(head, Body::from(body));
                    return Ok(self.respond(request, address).await);
                }
                Err(away) => return Err(away.into()),
            }
        }
        Err(NotForwarded::NotRun.into())
    }

    /// Responds to a request that another node passes on, or sends itself. When the listener has as many
    /// connections as it may, only the latter.
    pub(crate) async fn handle_from_peer<B>(
        &self,
        request: Request<B>,
        peer: std::net::IpAddr,
        is_full: bool,
    ) -> Response
    where
        B: UnreadBody,
        B::Error: Into<axum::BoxError>,
    {
        let Some(cluster) = &self.state.cluster else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let verified = match cluster.verify_peer(&request) {
            Ok(verified) => verified,
            // For the node that had this address before.
            Err(PeerRefused::OtherNode) => return NotOwner.into_response(),
            Err(refused) => {
                let refusals = &self.state.hub.budgets.refusals;
                let address = ClientAddress::from(peer);
                refusals.record(
                    RefusalKind::ClusterPeer,
                    address,
                    "/_cluster",
                    &refused.to_string(),
                );
                let headers = [
                    (CONNECTION, HeaderValue::from_static("close")),
                    (NODE_REFUSED, HeaderValue::from_static("1")),
                ];
                return (StatusCode::UNAUTHORIZED, headers).into_response();
            }
        };
        let mut request = request.map(PeerBody::new);
        if request.uri().path() == PING_PATH {
            let reaches = HeaderValue::from(u16::from(cluster.is_reaching(&verified.node)));
            return [
                (REACHES, reaches),
                (CONNECTION, HeaderValue::from_static("close")),
            ]
            .into_response();
        }
        if is_peer_route(request.uri().path()) {
            if request.uri().path() == HAND_OVER_PATH {
                return self.take_catalogue(cluster, request, verified).await;
            }
            return if cluster.answers_as_owner(verified.realm) {
                let answer = cluster.sign_answer(request.headers());
                (StatusCode::OK, [(PEER_ANSWER, answer)]).into_response()
            } else {
                NotOwner.into_response()
            };
        }
        if is_full {
            let route = route_name(self.without_public_path(request.uri()).path());
            let problem = Problem::new(ErrorCode::ClusterUnavailable, LISTENER_FULL);
            let mut response = problem
                .refusing(RefusalKind::MaxConnections)
                .into_response();
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            self.record_refusal(&mut response, verified.client, route);
            return response;
        }
        let checked = self.check_owner(cluster, &request, verified).await;
        let _guard = match checked {
            Ok(guard) => guard,
            Err(not_owner) => return not_owner.into_response(),
        };
        request.extensions_mut().insert(PassedOn(verified.realm));
        let id = HttpRequestId::from_trusted(request.headers());
        let header = id.to_header();
        // Pinned here: a function to which this future was passed would move all of it.
        let responding = pin!(self.respond(request, verified.client));
        let mut response = id.scope(responding).await;
        response.headers_mut().insert(REQUEST_ID, header);
        response
    }

    /// Whether a request may be one of MCP. Then it is known only from its body whether it connects a
    /// client, which takes the realm over if the owner is gone.
    fn serves_mcp(&self, head: &Parts) -> bool {
        let uri = self.without_public_path(&head.uri);
        matches!(uri.path(), "/mcp" | "/mcp/" | "/")
    }

    /// The URI of a request without the path of `public_url`.
    fn without_public_path<'a>(&self, uri: &'a Uri) -> Cow<'a, Uri> {
        let public_url = self.state.protected_resource.public_url();
        let stripped = public_url.and_then(|it| it.without_path(uri));
        stripped.map_or(Cow::Borrowed(uri), Cow::Owned)
    }

    /// Checks that this node serves the realm of a request that another one passes on, or has issued its
    /// query token. A page sends its token later.
    async fn check_owner<B>(
        &self,
        cluster: &Arc<ClusterNode>,
        request: &Request<B>,
        peer: PeerRequest,
    ) -> Result<Option<RealmGuard>, NotOwner>
    where
        B: HttpBody<Data = Bytes>,
    {
        let token = self
            .state
            .request_token(request.headers(), request.uri().query());
        let Some(key) = peer.realm else {
            let is_issuer = token.is_some_and(|token| cluster.has_issued(&token));
            return is_issuer.then_some(None).ok_or(NotOwner);
        };
        let uri = self.without_public_path(request.uri());
        if is_page_socket(uri.path(), request.method(), request.headers()) {
            return cluster.check_page(key, peer).await.map(|()| None);
        }
        match self
            .state
            .authenticator
            .verify(token.as_deref(), peer.client)
            .await
        {
            Ok(principal) => {
                let can_be_repeated = is_kept(request.body());
                cluster
                    .check_request(key, principal.realm, peer, can_be_repeated)
                    .await
            }
            // Refused as the request of a client here would be.
            Err(_) => Ok(None),
        }
    }
}

/// Returns the head of a request, if a browser has sent it.
fn browser_request(head: &Parts) -> Option<Request<()>> {
    head.headers.contains_key(ORIGIN).then(|| {
        let mut request = Request::new(());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        request
    })
}

fn kept(body: Bytes) -> LinkBody {
    LinkBody::Left(Full::new(body))
}

fn to_response(response: ForwardedResponse) -> Response {
    response.map(Body::new)
}

/// Whether a request opens the socket of a page. Clients may want to upgrade any other request, such as
/// those of Java to HTTP/2, and get their response without that.
fn is_page_socket(path: &str, method: &Method, headers: &HeaderMap) -> bool {
    path == "/ws" || path == "/" && guard::is_upgrade(method, headers)
}
