//! The state of the connection, for the program.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use web_sdk_core::Failure;

/// The state of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// `connect` has not been called yet.
    Idle,
    /// The first attempt is in progress.
    Connecting,
    /// AI clients can use the added items.
    Connected,
    /// An attempt failed or the connection broke; it will be retried.
    Reconnecting {
        /// The latest error.
        error: ConnectError,
        /// The time until the next attempt; `None` while one is in progress.
        retry_in: Option<Duration>,
    },
    /// The program has disconnected.
    Disconnected,
    /// The connection failed. Only another `connect` retries it.
    Failed(ConnectError),
}

impl From<web_sdk_core::Status> for Status {
    fn from(status: web_sdk_core::Status) -> Self {
        match status {
            web_sdk_core::Status::Connecting => Self::Connecting,
            web_sdk_core::Status::Connected => Self::Connected,
            web_sdk_core::Status::Reconnecting { error, retry_in_ms } => Self::Reconnecting {
                error: error.into(),
                retry_in: retry_in_ms.map(|ms| Duration::from_millis(ms.into())),
            },
            web_sdk_core::Status::Disconnected => Self::Disconnected,
            web_sdk_core::Status::Failed(error) => Self::Failed(error.into()),
        }
    }
}

/// Why there is no connection, or why the bridge rejects a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError {
    code: Cow<'static, str>,
    message: String,
}

impl ConnectError {
    /// Returns the code for programs, such as `BridgeUnreachable`, `SessionSuperseded` or
    /// `InvalidAuthentication`.
    pub fn code(&self) -> &str {
        &self.code
    }

    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Failure::new(code, message).into()
    }
}

impl From<Failure> for ConnectError {
    fn from(Failure { code, message }: Failure) -> Self {
        Self { code, message }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConnectError {}
