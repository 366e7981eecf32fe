//! Systems without Unix sockets have no administration.

use std::path::Path;
use std::sync::Arc;

use bridge_edge::PrivateSocketError;
use tokio_util::sync::CancellationToken;

use super::administration::Administration;
use super::messages::{AdminAnswer, AdminRequest};

/// Never exists, in place of `AdminServer`.
#[derive(Debug)]
pub(crate) enum NoAdminServer {}

impl NoAdminServer {
    pub(crate) async fn start(
        _: &Path,
        _: Arc<Administration>,
        _: CancellationToken,
    ) -> Result<Self, PrivateSocketError> {
        Err(PrivateSocketError::Unsupported)
    }

    pub(crate) async fn stopped(self) {
        match self {}
    }
}

pub(crate) fn check(_: &Path) -> Result<(), PrivateSocketError> {
    Err(PrivateSocketError::Unsupported)
}

pub(super) async fn request(_: &Path, _: &AdminRequest) -> Result<AdminAnswer, String> {
    Err(PrivateSocketError::Unsupported.to_string())
}
