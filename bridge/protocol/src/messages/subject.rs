//! The subject of a token: the person or service that it was issued to.

/// The person or service that a token identifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The subject's id (`sub`, RFC 7519 section 4.1.2).
    pub sub: Option<String>,
    /// The subject's roles.
    pub roles: Vec<String>,
}
