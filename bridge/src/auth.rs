//! Tokens: who may use which realm, and what for.
//!
//! A token is opaque or signed. [`opaque`] knows the first by their hashes; [`jwt`] checks the
//! second with the keys that [`keys`] holds, [`jwk`] reads and [`published`] fetches, and
//! [`claims`] reads what they say; [`verified`] remembers those that were good. Either way a
//! [`Principal`] comes out.

mod bearer;
mod claims;
mod jwk;
mod jwt;
mod keys;
mod opaque;
mod principal;
mod published;
mod realm_id;
mod scopes;
mod verified;

use bridge_protocol::{ErrorCode, limits};

use crate::config::Identity;
use crate::queries::looks_like_one;
use jwt::SignedTokens;
use opaque::OpaqueTokens;

pub(crate) use bearer::token_of;
pub(crate) use principal::{InsufficientScope, Person, Principal};
pub(crate) use realm_id::RealmId;
pub(crate) use scopes::{Scope, Scopes};

/// Which tokens are valid.
#[derive(Debug)]
pub(crate) struct Tokens {
    opaque: OpaqueTokens,
    signed: Option<SignedTokens>,
    /// In characters.
    shortest: usize,
}

/// Why a token is refused. Never contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenRefusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl TokenRefusal {
    fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::InvalidAuthentication,
            message: message.into(),
        }
    }
}

impl Tokens {
    /// From the configured opaque tokens and keys. With neither, a page makes its own token.
    ///
    /// # Errors
    ///
    /// What is wrong with the identity settings, and what to change.
    pub(crate) fn new(listed: &[String], identity: &Identity) -> Result<Self, String> {
        let signed = SignedTokens::new(identity)?;
        let opaque = match listed {
            [] if signed.is_none() => OpaqueTokens::SelfMade,
            listed => OpaqueTokens::listed(listed),
        };
        Ok(Self {
            opaque,
            signed,
            shortest: limits::MIN_TOKEN_CHARS,
        })
    }

    /// The same, also with tokens that can be guessed: as the bridge of mcp-web 0.1 took them.
    pub(crate) fn of_any_length(self) -> Self {
        Self {
            shortest: 1,
            ..self
        }
    }

    /// Begins to fetch the keys that are published somewhere. Needs a runtime.
    pub(crate) fn start(&self) {
        if let Some(signed) = &self.signed {
            signed.start();
        }
    }

    /// Whether the operator says who may connect.
    pub(crate) fn are_configured(&self) -> bool {
        !matches!(self.opaque, OpaqueTokens::SelfMade)
    }

    /// Whom a token names. Waits only for keys that must be fetched.
    pub(crate) async fn verify(&self, token: Option<&str>) -> Result<Principal, TokenRefusal> {
        let token = token.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| TokenRefusal {
            code: ErrorCode::MissingAuthentication,
            message: "no token: send `Authorization: Bearer …` with the token of the page"
                .to_owned(),
        })?;
        self.check_size(token)?;
        if looks_like_one(token) {
            return Err(TokenRefusal::invalid(
                "the token of a query is good for its agent only: use that of the page",
            ));
        }
        if let Some(principal) = self.opaque.principal(token) {
            return Ok(principal);
        }
        match &self.signed {
            Some(signed) => signed.verify(token).await,
            None => Err(TokenRefusal::invalid(
                "the token is not on this bridge's list: ask its operator for one",
            )),
        }
    }

    fn check_size(&self, token: &str) -> Result<(), TokenRefusal> {
        let characters = token.chars().count();
        if characters >= self.shortest && token.len() <= limits::MAX_TOKEN_BYTES {
            return Ok(());
        }
        Err(TokenRefusal::invalid(format!(
            "the token must have at least {} characters and at most {} bytes: this one has \
             {characters} characters",
            self.shortest,
            limits::MAX_TOKEN_BYTES
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn realm(tokens: &Tokens, token: &str) -> Result<RealmId, ErrorCode> {
        let verified = tokens.verify(Some(token)).await;
        verified
            .map(|principal| principal.realm)
            .map_err(|refusal| refusal.code)
    }

    #[tokio::test]
    async fn a_token_names_one_realm_and_is_not_shown() {
        let tokens = Tokens::new(&[], &Identity::default()).unwrap();
        let one = realm(&tokens, "0123456789abcdef").await.unwrap();
        assert_eq!(realm(&tokens, "0123456789abcdef").await, Ok(one));
        assert_ne!(realm(&tokens, "0123456789abcdeF").await, Ok(one));
        let principal = tokens.verify(Some("0123456789abcdef")).await.unwrap();
        assert_eq!(principal.scopes, Scopes::all());
        assert!(!format!("{principal:?}").contains("0123456789abcdef"));
    }

    #[tokio::test]
    async fn tokens_are_refused_with_what_to_do() {
        let listed = ["listed-token-0123456789".to_owned()];
        let tokens = Tokens::new(&listed, &Identity::default()).unwrap();
        assert!(realm(&tokens, "listed-token-0123456789").await.is_ok());
        let missing = tokens.verify(None).await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::MissingAuthentication);
        assert_eq!(
            realm(&tokens, "").await,
            Err(ErrorCode::MissingAuthentication)
        );
        let long = "x".repeat(limits::MAX_TOKEN_BYTES + 1);
        for bad in ["short", &long] {
            assert_eq!(
                realm(&tokens, bad).await,
                Err(ErrorCode::InvalidAuthentication)
            );
        }
        let open = Tokens::new(&[], &Identity::default()).unwrap();
        assert!(realm(&open, &long).await.is_err());
        assert!(realm(&open, &long[1..]).await.is_ok());
        let other = tokens.verify(Some("another-token-0123456789")).await;
        let other = other.unwrap_err();
        assert_eq!(other.code, ErrorCode::InvalidAuthentication);
        assert!(!other.message.contains("another-token"));
    }
}
