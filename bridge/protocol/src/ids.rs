//! Identifiers that travel on the page socket.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub String);

        impl $name {
            /// The identifier as it is written on the wire.
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
