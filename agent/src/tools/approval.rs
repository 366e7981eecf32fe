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
