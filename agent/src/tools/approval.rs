//! What a person says about a call that must be approved.

use serde::Serialize;

/// The answer of a person, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Approval {
    Granted,
    Denied,
    /// Nobody has answered in time.
    Expired,
}

/// A call that was not approved.
#[derive(Debug)]
pub(crate) struct NotApproved {
    pub(crate) approval: Approval,
    /// The reason, for the model.
    pub(crate) reason: String,
}
