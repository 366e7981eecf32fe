//! The common parts of all HTTP interfaces of the bridge: the state of the routes, the checks that
//! every request passes, and the responses for errors.

pub(crate) mod body;
mod extract;
pub(crate) mod guard;
pub(crate) mod problem;
mod protected_resource;
pub(crate) mod public_url;
mod request_id;
pub(crate) mod session_pool;
mod sessions_by_realm;
mod state;

pub(crate) use extract::{Parameters, PathSegment, client_address};
pub(crate) use problem::Problem;
pub(crate) use protected_resource::{METADATA_PATH, ProtectedResource};
pub use request_id::current_request_id;
pub(crate) use request_id::{
    HttpRequestId, HttpRequestIds, InHttpRequest, REQUEST_ID, in_current_request,
    run_in_current_request,
};
pub(crate) use state::AppState;
