//! The verification of tokens, which are either opaque or signed.

use bridge_protocol::{ErrorCode, limits};

use crate::error::AuthError;
use crate::jwt::SignedTokens;
use crate::jwt_settings::JwtSettings;
use crate::opaque::OpaqueTokens;
use crate::principal::Principal;
use crate::query_token::is_query_token;
use crate::realm_id::RealmId;

/// Verifies the tokens of requests, both opaque and signed ones.
#[derive(Debug)]
pub struct Authenticator {
    opaque: OpaqueTokens,
    signed: Option<SignedTokens>,
    /// The minimum length of a token in characters.
    min_token_chars: usize,
    /// The realm id of `metrics_token`, which pages and clients cannot use.
    reserved: Option<RealmId>,
}

impl Authenticator {
    /// Creates an authenticator from the configured opaque tokens and keys. If neither is
    /// configured, each page generates its own token.
    ///
    /// # Errors
    ///
    /// Describes the error in the identity settings and what to change.
    pub fn new(configured_tokens: &[String], jwt: &JwtSettings) -> Result<Self, String> {
        let signed = SignedTokens::new(jwt)?;
        let opaque = match configured_tokens {
            [] if signed.is_none() => OpaqueTokens::AnyToken,
            configured_tokens => OpaqueTokens::from_list(configured_tokens),
        };
        Ok(Self {
            opaque,
            signed,
            min_token_chars: limits::MIN_TOKEN_CHARS,
            reserved: None,
        })
    }

    /// Also accepts tokens that are short enough to be guessed, as the bridge of mcp-web 0.1 did.
    pub fn allow_short_tokens(self) -> Self {
        Self {
            min_token_chars: 1,
            ..self
        }
    }

    /// Refuses `metrics_token`, which would otherwise be valid where any token is.
    pub fn reserve_metrics_token(self, token: &str) -> Self {
        Self {
            reserved: Some(RealmId::from_token(token)),
            ..self
        }
    }

    /// Starts the task that fetches published keys. Must be called within a Tokio runtime.
    pub fn start(&self) {
        if let Some(signed) = &self.signed {
            signed.start();
        }
    }

    /// Whether the operator has configured tokens or keys.
    pub fn has_configured_tokens(&self) -> bool {
        !matches!(self.opaque, OpaqueTokens::AnyToken)
    }

    /// Verifies a token. Waits only if keys must be fetched.
    pub async fn verify(&self, token: Option<&str>) -> Result<Principal, AuthError> {
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
            if self.reserved == Some(principal.realm) {
                return Err(AuthError::invalid(
                    "`metrics_token` is valid for metrics only: use the token of the page",
                ));
            }
            return Ok(principal);
        }
        match &self.signed {
            // Boxed, because most tokens are not signed.
            Some(signed) => Box::pin(signed.verify(token)).await,
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
    use crate::Scopes;

    async fn realm(authenticator: &Authenticator, token: &str) -> Result<RealmId, ErrorCode> {
        let verified = authenticator.verify(Some(token)).await;
        verified
            .map(|principal| principal.realm)
            .map_err(|error| error.code)
    }

    #[tokio::test]
    async fn a_token_maps_to_one_realm_and_is_redacted() {
        let authenticator = Authenticator::new(&[], &JwtSettings::default()).unwrap();
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
    async fn the_metrics_token_is_not_a_token_of_a_page() {
        let authenticator = Authenticator::new(&[], &JwtSettings::default()).unwrap();
        let authenticator = authenticator.reserve_metrics_token("metrics-token-0123456789");
        let refused = realm(&authenticator, "metrics-token-0123456789").await;
        assert_eq!(refused, Err(ErrorCode::InvalidAuthentication));
        assert!(
            realm(&authenticator, "other-token-0123456789")
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn rejected_tokens_get_the_right_error_code() {
        let listed = ["listed-token-0123456789".to_owned()];
        let authenticator = Authenticator::new(&listed, &JwtSettings::default()).unwrap();
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
        let open = Authenticator::new(&[], &JwtSettings::default()).unwrap();
        assert!(realm(&open, &long).await.is_err());
        assert!(realm(&open, &long[1..]).await.is_ok());
        let other = authenticator.verify(Some("another-token-0123456789")).await;
        let other = other.unwrap_err();
        assert_eq!(other.code, ErrorCode::InvalidAuthentication);
        assert!(!other.message.contains("another-token"));
    }
}
