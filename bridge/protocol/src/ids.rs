//! Identifiers that travel on the page socket.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub String);

        impl $name {
            /// The identifier as it stands on the wire.
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
    /// A session: one tab. It outlives its connections; the page chooses it, once per document.
    SessionId
}
id! {
    /// One tool call, `requestId` on the wire. Unique within one life of a bridge: a page executes
    /// each at most once.
    CallId
}
id! {
    /// One registration or unregistration, chosen by the page, echoed in the acknowledgement.
    RegistrationId
}
id! {
    /// One query, `uuid` on the wire. The page makes it: a random UUID, never used again.
    QueryId
}
id! {
    /// One life of a bridge. When it changes, calls of the former life are void.
    BridgeId
}
