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
use crate::queries::is_query_token;
use jwt::SignedTokens;
use opaque::OpaqueTokens;

pub(crate) use bearer::bearer_token;
pub(crate) use principal::{InsufficientScope, Principal, Subject};
pub(crate) use realm_id::RealmId;
pub(crate) use scopes::{Scope, Scopes};

/// Which tokens are valid.
#[derive(Debug)]
pub(crate) struct Authenticator {
    opaque: OpaqueTokens,
    signed: Option<SignedTokens>,
    /// In characters.
    min_token_chars: usize,
}

/// Why a token is refused. Never contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl AuthError {
    fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::InvalidAuthentication,
            message: message.into(),
        }
    }
}

impl Authenticator {
    /// From the configured opaque tokens and keys. With neither, a page makes its own token.
    ///
    /// # Errors
    ///
    /// What is wrong with the identity settings, and what to change.
    pub(crate) fn new(configured_tokens: &[String], identity: &Identity) -> Result<Self, String> {
        let signed = SignedTokens::new(identity)?;
        let opaque = match configured_tokens {
            [] if signed.is_none() => OpaqueTokens::AnyToken,
            configured_tokens => OpaqueTokens::from_list(configured_tokens),
        };
        Ok(Self {
            opaque,
            signed,
            min_token_chars: limits::MIN_TOKEN_CHARS,
        })
    }

    /// The same, also with tokens that can be guessed: as the bridge of mcp-web 0.1 took them.
    pub(crate) fn allow_short_tokens(self) -> Self {
        Self {
            min_token_chars: 1,
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
    pub(crate) fn has_configured_tokens(&self) -> bool {
        !matches!(self.opaque, OpaqueTokens::AnyToken)
    }

    /// Whom a token names. Waits only for keys that must be fetched.
    pub(crate) async fn verify(&self, token: Option<&str>) -> Result<Principal, AuthError> {
        let token = token.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| AuthError {
            code: ErrorCode::MissingAuthentication,
            message: "no token: send `Authorization: Bearer …` with the token of the page"
                .to_owned(),
        })?;
        self.check_length(token)?;
        if is_query_token(token) {
            return Err(AuthError::invalid(
                "the token of a query is good for its agent only: use that of the page",
            ));
        }
        if let Some(principal) = self.opaque.principal(token) {
            return Ok(principal);
        }
        match &self.signed {
            Some(signed) => signed.verify(token).await,
            None => Err(AuthError::invalid(
                "the token is not on this bridge's list: ask its operator for one",
            )),
        }
    }

    fn check_length(&self, token: &str) -> Result<(), AuthError> {
        let characters = token.chars().count();
        if characters >= self.min_token_chars && token.len() <= limits::MAX_TOKEN_BYTES {
            return Ok(());
        }
        Err(AuthError::invalid(format!(
            "the token must have at least {} characters and at most {} bytes: this one has \
             {characters} characters",
            self.min_token_chars,
            limits::MAX_TOKEN_BYTES
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn realm(authenticator: &Authenticator, token: &str) -> Result<RealmId, ErrorCode> {
        let verified = authenticator.verify(Some(token)).await;
        verified
            .map(|principal| principal.realm)
            .map_err(|error| error.code)
    }

    #[tokio::test]
    async fn a_token_maps_to_one_realm_and_is_redacted() {
        let authenticator = Authenticator::new(&[], &Identity::default()).unwrap();
        let one = realm(&authenticator, "0123456789abcdef").await.unwrap();
        assert_eq!(realm(&authenticator, "0123456789abcdef").await, Ok(one));
        assert_ne!(realm(&authenticator, "0123456789abcdeF").await, Ok(one));
        let principal = authenticator
            .verify(Some("0123456789abcdef"))
            .await
            .unwrap();
        assert_eq!(principal.scopes, Scopes::all());
        assert!(!format!("{principal:?}").contains("0123456789abcdef"));
    }

    #[tokio::test]
    async fn rejected_tokens_get_the_right_error_code() {
        let listed = ["listed-token-0123456789".to_owned()];
        let authenticator = Authenticator::new(&listed, &Identity::default()).unwrap();
        assert!(
            realm(&authenticator, "listed-token-0123456789")
                .await
                .is_ok()
        );
        let missing = authenticator.verify(None).await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::MissingAuthentication);
        assert_eq!(
            realm(&authenticator, "").await,
            Err(ErrorCode::MissingAuthentication)
        );
        let long = "x".repeat(limits::MAX_TOKEN_BYTES + 1);
        for bad in ["short", &long] {
            assert_eq!(
                realm(&authenticator, bad).await,
                Err(ErrorCode::InvalidAuthentication)
            );
        }
        let open = Authenticator::new(&[], &Identity::default()).unwrap();
        assert!(realm(&open, &long).await.is_err());
        assert!(realm(&open, &long[1..]).await.is_ok());
        let other = authenticator.verify(Some("another-token-0123456789")).await;
        let other = other.unwrap_err();
        assert_eq!(other.code, ErrorCode::InvalidAuthentication);
        assert!(!other.message.contains("another-token"));
    }
}
