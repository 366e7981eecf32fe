//! Identifiers that travel on the page socket.

use crate::limits::MAX_CONVERSATION_ID_BYTES;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub String);

        impl $name {
            /// The identifier in its spelling on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// Identifies a session, which is one tab. A session outlives its connections; the page chooses
    /// the id once per document.
    SessionId
}
id! {
    /// Identifies a call (`requestId` on the wire). It is unique within one run of a bridge, and a
    /// page executes each call at most once.
    CallId
}
id! {
    /// Identifies a registration or unregistration. The page chooses it, and the acknowledgement
    /// repeats it.
    RegistrationId
}
id! {
    /// Identifies a query (`uuid` on the wire). The page creates it as a random UUID and never uses
    /// it again.
    QueryId
}
id! {
    /// Identifies one run of a bridge. When it changes, the bridge was restarted, and the calls of
    /// the former run are void.
    BridgeId
}

/// Returns whether a text can be the id of a conversation: 1 to
/// [`MAX_CONVERSATION_ID_BYTES`] bytes of visible ASCII. An id is a segment of a URL, where one or
/// two dots alone would be resolved.
pub fn is_conversation_id(id: &str) -> bool {
    let is_visible = id.bytes().all(|byte| byte.is_ascii_graphic());
    (1..=MAX_CONVERSATION_ID_BYTES).contains(&id.len()) && is_visible && !matches!(id, "." | "..")
}
