//! Tokens: who may use which realm. Only hashes of tokens are kept.

use std::collections::HashSet;
use std::fmt;

use bridge_protocol::{ErrorCode, limits};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

/// Names a realm: the SHA-256 of its token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RealmId([u8; 32]);

impl RealmId {
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The first bytes are enough to tell realms apart in a log.
impl fmt::Debug for RealmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}

/// Which tokens are valid.
#[derive(Clone, Debug)]
pub(crate) enum Tokens {
    /// Any token that is long enough: a page opens a realm with one of its own making.
    SelfMade,
    /// Only these.
    Listed(HashSet<RealmId>),
}

/// Why a token is refused. Never contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenRefusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Tokens {
    /// From the configured tokens; none means self-made ones.
    pub(crate) fn new(listed: &[String]) -> Self {
        if listed.is_empty() {
            return Tokens::SelfMade;
        }
        Tokens::Listed(listed.iter().map(|token| realm_of(token)).collect())
    }

    /// The realm that a token opens.
    pub(crate) fn realm(&self, token: Option<&str>) -> Result<RealmId, TokenRefusal> {
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Err(TokenRefusal {
                code: ErrorCode::MissingAuthentication,
                message: "no token: send `Authorization: Bearer …` with the token of the page"
                    .to_owned(),
            });
        };
        let refused = |message: String| TokenRefusal {
            code: ErrorCode::InvalidAuthentication,
            message,
        };
        let characters = token.chars().count();
        if characters < limits::MIN_TOKEN_CHARS || token.len() > limits::MAX_TOKEN_BYTES {
            return Err(refused(format!(
                "the token must have at least {} characters and at most {} bytes: this one has \
                 {characters} characters",
                limits::MIN_TOKEN_CHARS,
                limits::MAX_TOKEN_BYTES
            )));
        }
        let realm = realm_of(token);
        match self {
            Tokens::SelfMade => Ok(realm),
            Tokens::Listed(listed) if listed.contains(&realm) => Ok(realm),
            Tokens::Listed(_) => Err(refused(
                "the token is not on this bridge's list: ask its operator for one".to_owned(),
            )),
        }
    }
}

fn realm_of(token: &str) -> RealmId {
    RealmId(Sha256::digest(token).into())
}

/// The token of a request: `Authorization: Bearer …`, or `?token=` where that is allowed.
pub(crate) fn token_of<'a>(
    headers: &'a HeaderMap,
    query: Option<&'a str>,
    allow_in_url: bool,
) -> Option<std::borrow::Cow<'a, str>> {
    let header = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if let Some(value) = header {
        let (scheme, token) = value.split_once(' ').unwrap_or(("", value));
        return (scheme.is_empty() || scheme.eq_ignore_ascii_case("bearer"))
            .then(|| token.trim().into());
    }
    if !allow_in_url {
        return None;
    }
    form_urlencoded::parse(query?.as_bytes())
        .find(|(key, _)| key == "token")
        .map(|(_, token)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_one_realm_and_is_not_shown() {
        let tokens = Tokens::new(&[]);
        let realm = tokens.realm(Some("0123456789abcdef")).unwrap();
        assert_eq!(tokens.realm(Some("0123456789abcdef")), Ok(realm));
        assert_ne!(tokens.realm(Some("0123456789abcdeF")), Ok(realm));
        assert!(!format!("{realm:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn tokens_are_refused_with_what_to_do() {
        let tokens = Tokens::new(&["listed-token-0123456789".to_owned()]);
        let code = |token| tokens.realm(token).map_err(|refusal| refusal.code);
        assert!(code(Some("listed-token-0123456789")).is_ok());
        assert_eq!(code(None), Err(ErrorCode::MissingAuthentication));
        assert_eq!(code(Some("")), Err(ErrorCode::MissingAuthentication));
        assert_eq!(code(Some("short")), Err(ErrorCode::InvalidAuthentication));
        let long = "x".repeat(limits::MAX_TOKEN_BYTES + 1);
        assert_eq!(code(Some(&long)), Err(ErrorCode::InvalidAuthentication));
        let open = Tokens::new(&[]);
        assert!(open.realm(Some(&long)).is_err());
        assert!(open.realm(Some(&long[1..])).is_ok());
        let other = tokens.realm(Some("another-token-0123456789")).unwrap_err();
        assert_eq!(other.code, ErrorCode::InvalidAuthentication);
        assert!(!other.message.contains("another-token"));
    }

    #[test]
    fn the_header_wins_over_the_url_and_the_url_must_be_allowed() {
        let mut headers = HeaderMap::new();
        let query = Some("a=b&token=from%2Durl");
        assert_eq!(token_of(&headers, query, false), None);
        assert_eq!(token_of(&headers, query, true).as_deref(), Some("from-url"));
        headers.insert(AUTHORIZATION, "bearer from-header".parse().unwrap());
        assert_eq!(
            token_of(&headers, query, true).as_deref(),
            Some("from-header")
        );
        headers.insert(AUTHORIZATION, "Basic Zm9v".parse().unwrap());
        assert_eq!(token_of(&headers, query, true), None);
    }
}
