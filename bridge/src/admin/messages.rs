//! The messages between the command and the bridge: one line of JSON in each direction.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request of the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AdminRequest {
    List(ListRequest),
    End(EndRequest),
    Deny(DenyRequest),
    Allow(UserSelector),
}

/// A request for a part of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ListRequest {
    pub(super) what: Listed,
    pub(super) user: UserSelector,
    /// The `next` of the part before this one.
    pub(super) after: Option<String>,
    /// The maximum number of rows.
    pub(super) limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Listed {
    Users,
    Pages,
    Clients,
    Calls,
    Denied,
}

/// A request to end something of the user, or of any user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndRequest {
    pub(super) what: Ended,
    pub(super) user: UserSelector,
    pub(super) reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    Page(String),
    Client(String),
    Call(String),
    /// Everything of the user.
    User,
}

/// A request to deny access to a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DenyRequest {
    pub(super) user: UserSelector,
    pub(super) seconds: u64,
    pub(super) reason: Option<String>,
}

/// The name of a user: a subject and its issuer, or the hash of a realm. Nothing selects all users.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct UserSelector {
    pub(super) subject: Option<String>,
    pub(super) issuer: Option<String>,
    /// The hash in hexadecimal digits, or the beginning of it.
    pub(super) realm: Option<String>,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AdminReply {
    Ok(AdminAnswer),
    /// The reason, and what to do.
    Error(String),
}

/// An entry of a list.
pub(super) type Row = Map<String, Value>;

/// The answer to a request that has succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AdminAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<Vec<Row>>,
    /// Where the list continues, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl AdminAnswer {
    pub(super) fn message(text: String) -> Self {
        Self {
            message: Some(text),
            ..Self::default()
        }
    }
}
