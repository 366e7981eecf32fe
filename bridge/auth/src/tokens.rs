//! The verification of tokens, which are either opaque or signed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bridge_edge::{ClientAddress, TokenHash};
use bridge_protocol::{ErrorCode, limits};
use tokio::sync::Notify;

use crate::deny_list::DenyList;
use crate::error::AuthError;
use crate::jwt::{KeySetStatus, SignedTokens};
use crate::jwt_settings::JwtSettings;
use crate::opaque::OpaqueTokens;
use crate::principal::Principal;
use crate::query_token::is_query_token;
use crate::realm_id::RealmId;

/// Verifies the tokens of requests, both opaque and signed ones. Its rules can be replaced while it is
/// used.
#[derive(Debug)]
pub struct Authenticator {
    rules: ArcSwap<TokenRules>,
    /// How often tokens had to be verified again.
    generation: AtomicU64,
    /// Notified when tokens must be verified again.
    changed: Arc<Notify>,
    /// Stays the same when the rules are replaced.
    denied: Arc<DenyList>,
}

/// Which tokens are valid.
#[derive(Clone, Debug)]
struct TokenRules {
    opaque: OpaqueTokens,
    signed: Option<Arc<SignedTokens>>,
    signed_source: Arc<SignedSource>,
    /// The minimum length of a token in characters.
    min_token_chars: usize,
    /// The realm id of `metrics_token`, which pages and clients cannot use.
    reserved: Option<RealmId>,
}

/// The settings of signed tokens of all issuers, and the contents of their files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SignedSource {
    settings: Vec<JwtSettings>,
    files: Vec<Option<TokenHash>>,
}

impl SignedSource {
    fn load(settings: &[JwtSettings]) -> Self {
        let hash = |path: &Path| {
            let text = std::fs::read_to_string(path).ok()?;
            Some(TokenHash::from_token(&text))
        };
        Self {
            settings: settings.to_vec(),
            files: settings
                .iter()
                .flat_map(JwtSettings::files)
                .map(hash)
                .collect(),
        }
    }
}

/// The rules before and after they were replaced.
#[derive(Debug)]
pub struct TokenChanges {
    former: Arc<TokenRules>,
    current: Arc<TokenRules>,
}

impl TokenChanges {
    /// Whether the opaque token of this realm was valid and is not any more.
    pub fn is_revoked(&self, realm: &RealmId) -> bool {
        self.former.opaque.allows(realm) && !self.current.opaque.allows(realm)
    }

    /// Whether signed tokens that were valid may not be valid any more, and so those of this realm.
    pub fn may_be_revoked(&self, realm: &RealmId) -> bool {
        self.has_changed_signed()
            && self.former.signed.is_some()
            && !self.former.opaque.allows(realm)
    }

    /// Whether signed tokens are verified by other rules or keys.
    pub fn has_changed_signed(&self) -> bool {
        self.former.signed_source != self.current.signed_source
    }

    /// The number of listed tokens that were added, and of those that were removed.
    pub fn listed_changes(&self) -> (usize, usize) {
        let [former, current] = [&self.former.opaque, &self.current.opaque];
        (
            current.count_missing_in(former),
            former.count_missing_in(current),
        )
    }

    /// Whether each token is valid that was valid before, and no other.
    pub fn is_empty(&self) -> bool {
        self.listed_changes() == (0, 0)
            && !self.has_changed_signed()
            && self.former.reserved == self.current.reserved
    }
}

impl Authenticator {
    /// Creates an authenticator from the configured opaque tokens, and from the keys of each issuer.
    /// If neither is configured, each page generates its own token.
    ///
    /// # Errors
    ///
    /// Describes the error in the identity settings and what to change.
    pub fn new(configured_tokens: &[String], jwt: &[JwtSettings]) -> Result<Self, String> {
        // Before the keys are: if a file changes in between, it has changed afterwards.
        let signed_source = Arc::new(SignedSource::load(jwt));
        let signed = SignedTokens::new(jwt)?;
        let opaque = match configured_tokens {
            [] if signed.is_none() => OpaqueTokens::AnyToken,
            configured_tokens => OpaqueTokens::from_list(configured_tokens),
        };
        Ok(Self::with_rules(TokenRules {
            opaque,
            signed: signed.map(Arc::new),
            signed_source,
            min_token_chars: limits::MIN_TOKEN_CHARS,
            reserved: None,
        }))
    }

    fn with_rules(rules: TokenRules) -> Self {
        Self {
            rules: ArcSwap::from_pointee(rules),
            generation: AtomicU64::new(0),
            changed: Arc::default(),
            denied: Arc::default(),
        }
    }

    fn map_rules(self, change: impl FnOnce(&mut TokenRules)) -> Self {
        let mut rules = Arc::unwrap_or_clone(self.rules.into_inner());
        change(&mut rules);
        Self {
            denied: self.denied,
            ..Self::with_rules(rules)
        }
    }

    /// Also refuses the principals of this list, whatever their tokens.
    pub fn with_deny_list(self, denied: Arc<DenyList>) -> Self {
        Self { denied, ..self }
    }

    /// Also accepts tokens that are short enough to be guessed, as the bridge of mcp-web 0.1 did.
    pub fn allow_short_tokens(self) -> Self {
        self.map_rules(|rules| rules.min_token_chars = 1)
    }

    /// Refuses `metrics_token`, which would otherwise be valid where any token is.
    pub fn reserve_metrics_token(self, token: &str) -> Self {
        self.map_rules(|rules| rules.reserved = Some(RealmId::from_token(token)))
    }

    /// Sets the maximum size of the cache of verified signed tokens, which is empty afterwards.
    pub fn with_cache_bytes(self, max_bytes: usize) -> Self {
        self.map_rules(|rules| {
            if let Some(signed) = rules.signed.as_mut().and_then(Arc::get_mut) {
                signed.set_cache_bytes(max_bytes);
            }
        })
    }

    /// Starts the task that fetches published keys. Must be called within a Tokio runtime.
    pub fn start(&self) {
        if let Some(signed) = &self.rules.load().signed {
            signed.start();
        }
    }

    /// Whether the operator has configured tokens or keys.
    pub fn has_configured_tokens(&self) -> bool {
        !matches!(self.rules.load().opaque, OpaqueTokens::AnyToken)
    }

    /// Prepares these rules for [`replace`](Self::replace) of another authenticator: they share the
    /// published keys of an address that has not changed. Those of another address are fetched first.
    ///
    /// # Errors
    ///
    /// When a new address has no keys: no signed token would be valid.
    pub async fn prepare_to_replace(self, current: &Self) -> Result<Self, String> {
        let former = current.rules.load_full();
        let mut rules = Arc::unwrap_or_clone(self.rules.into_inner());
        if rules.signed_source == former.signed_source {
            rules.signed.clone_from(&former.signed);
        } else if let Some(signed) = rules.signed.as_mut().and_then(Arc::get_mut) {
            signed.take_over(former.signed.as_deref()).await?;
        }
        Ok(Self::with_rules(rules))
    }

    /// Fetches published keys again, unless they were fetched a moment ago.
    pub fn refetch_keys(&self) {
        if let Some(signed) = &self.rules.load().signed {
            signed.refetch();
        }
    }

    /// Whether no token can be verified now, because only signed ones are configured and their keys
    /// have not been fetched.
    pub fn lacks_keys(&self) -> bool {
        let rules = self.rules.load();
        let signed = rules.signed.as_ref();
        rules.opaque.is_empty() && signed.is_some_and(|signed| !signed.has_keys())
    }

    /// The published keys of each issuer, for metrics.
    pub fn key_sets(&self) -> Vec<KeySetStatus> {
        let rules = self.rules.load();
        let signed = rules.signed.iter();
        signed.flat_map(|signed| signed.key_sets()).collect()
    }

    /// The issuers whose signed tokens are verified.
    pub fn issuers(&self) -> Vec<String> {
        let rules = self.rules.load();
        let settings = rules.signed_source.settings.iter();
        settings
            .filter_map(|issuer| issuer.issuer.clone())
            .collect()
    }

    /// Verifies tokens by the rules of another authenticator from now on.
    pub fn replace(&self, other: Self) -> TokenChanges {
        let current = other.rules.into_inner();
        let former = self.rules.swap(Arc::clone(&current));
        self.reverify();
        TokenChanges { former, current }
    }

    /// Has the tokens of requests and responses that are under way verified again, because a principal was
    /// denied.
    pub fn reverify(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// How often tokens had to be verified again. If it is another number than before a token was
    /// verified, the token may not be valid any more.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Completes when a token is not valid any more: its principal was denied, or the rules were replaced,
    /// and it is a listed one that was removed, or a signed one whose rules have changed, which may still
    /// be valid. The rules count from this call on.
    pub fn revocation(
        authenticator: &Arc<Self>,
        principal: &Principal,
    ) -> impl Future<Output = ()> + Send + use<> {
        let this = Arc::clone(authenticator);
        let realm = principal.realm;
        let former = Arc::clone(&this.rules.load().signed_source);
        let is_signed = principal.sub.is_some();
        async move {
            loop {
                // Created before the rules are read, so that no change in between is missed.
                let changed = Arc::clone(&this.changed).notified_owned();
                let is_valid = {
                    let rules = this.rules.load();
                    rules.opaque.allows(&realm) || is_signed && rules.signed_source == former
                };
                if !is_valid || this.denied.check(realm).is_err() {
                    return;
                }
                changed.await;
            }
        }
    }

    /// Verifies a token that a client has sent from this address, and that its principal is not denied.
    /// Waits only if keys must be fetched.
    pub async fn verify(
        &self,
        token: Option<&str>,
        client: ClientAddress,
    ) -> Result<Principal, AuthError> {
        loop {
            let rules = self.generation();
            let principal = self.verify_token(token, client).await?;
            // While it waited for a key, the rules may have been replaced.
            if self.generation() == rules {
                self.denied.check(principal.realm)?;
                return Ok(principal);
            }
        }
    }

    async fn verify_token(
        &self,
        token: Option<&str>,
        client: ClientAddress,
    ) -> Result<Principal, AuthError> {
        let token = token.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| AuthError {
            code: ErrorCode::MissingAuthentication,
            message: "no token: send `Authorization: Bearer …` with a token of the page's user"
                .to_owned(),
        })?;
        let signed = {
            let rules = self.rules.load();
            if let Some(principal) = rules.verify_opaque(token)? {
                return Ok(principal);
            }
            rules.signed.clone()
        };
        match signed {
            // Boxed, because most tokens are not signed.
            Some(signed) => Box::pin(async move { signed.verify(token, client).await }).await,
            None => Err(AuthError::invalid(
                "the token is not on this bridge's list: ask its operator for one",
            )),
        }
    }
}

impl TokenRules {
    /// The principal of an opaque token. `None` if it may be a signed one.
    fn verify_opaque(&self, token: &str) -> Result<Option<Principal>, AuthError> {
        self.check_length(token)?;
        if is_query_token(token) {
            return Err(AuthError::invalid(
                "the token of a query is good for its agent only: use a token of the page's user",
            ));
        }
        let principal = self.opaque.principal(token);
        if let Some(principal) = &principal
            && self.reserved == Some(principal.realm)
        {
            return Err(AuthError::invalid(
                "`metrics_token` is valid for metrics only: use a token of the page's user",
            ));
        }
        Ok(principal)
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
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::{Denial, Scopes};

    async fn verify(
        authenticator: &Authenticator,
        token: Option<&str>,
    ) -> Result<Principal, AuthError> {
        let client = IpAddr::from(Ipv4Addr::LOCALHOST).into();
        authenticator.verify(token, client).await
    }

    async fn realm(authenticator: &Authenticator, token: &str) -> Result<RealmId, ErrorCode> {
        let verified = verify(authenticator, Some(token)).await;
        verified
            .map(|principal| principal.realm)
            .map_err(|error| error.code)
    }

    #[tokio::test]
    async fn a_token_maps_to_one_realm_and_is_redacted() {
        let authenticator = Authenticator::new(&[], &[]).unwrap();
        let one = realm(&authenticator, "0123456789abcdef").await.unwrap();
        assert_eq!(realm(&authenticator, "0123456789abcdef").await, Ok(one));
        assert_ne!(realm(&authenticator, "0123456789abcdeF").await, Ok(one));
        let principal = verify(&authenticator, Some("0123456789abcdef")).await;
        let principal = principal.unwrap();
        assert_eq!(principal.scopes, Scopes::all());
        assert!(!format!("{principal:?}").contains("0123456789abcdef"));
    }

    #[tokio::test]
    async fn the_metrics_token_is_not_a_token_of_a_page() {
        let authenticator = Authenticator::new(&[], &[]).unwrap();
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
        let authenticator = Authenticator::new(&listed, &[]).unwrap();
        assert!(
            realm(&authenticator, "listed-token-0123456789")
                .await
                .is_ok()
        );
        let missing = verify(&authenticator, None).await.unwrap_err();
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
        let open = Authenticator::new(&[], &[]).unwrap();
        assert!(realm(&open, &long).await.is_err());
        assert!(realm(&open, &long[1..]).await.is_ok());
        let other = verify(&authenticator, Some("another-token-0123456789")).await;
        let other = other.unwrap_err();
        assert_eq!(other.code, ErrorCode::InvalidAuthentication);
        assert!(!other.message.contains("another-token"));
    }

    #[tokio::test]
    async fn replaced_rules_apply_to_the_next_token_and_say_what_was_revoked() {
        let tokens = |list: &[&str]| {
            let list: Vec<_> = list.iter().map(|it| (*it).to_owned()).collect();
            Authenticator::new(&list, &[]).unwrap()
        };
        let [one, two, three] = ["one", "two", "three"].map(|it| format!("{it}-0123456789abcdef"));
        let authenticator = tokens(&[&one, &two]);
        let generation = authenticator.generation();
        let new = tokens(&[&two, &three]).prepare_to_replace(&authenticator);
        let changes = authenticator.replace(new.await.unwrap());
        assert_eq!(changes.listed_changes(), (1, 1));
        assert!(!changes.is_empty() && !changes.has_changed_signed());
        let revoked = [&one, &two, &three].map(|it| changes.is_revoked(&RealmId::from_token(it)));
        assert_eq!(revoked, [true, false, false]);
        assert_ne!(authenticator.generation(), generation);
        let refused = Err(ErrorCode::InvalidAuthentication);
        assert_eq!(realm(&authenticator, &one).await, refused);
        assert!(realm(&authenticator, &three).await.is_ok());
        let same = tokens(&[&three, &two]).prepare_to_replace(&authenticator);
        assert!(authenticator.replace(same.await.unwrap()).is_empty());
    }

    #[tokio::test]
    async fn the_revocation_of_a_token_is_notified_of() {
        let tokens = |listed: &str, secret: &str| {
            let settings = JwtSettings {
                secret: Some(secret.repeat(32).parse().unwrap()),
                issuer: Some("https://id.example".to_owned()),
                audience: vec!["mcp-web".to_owned()],
                ..JwtSettings::default()
            };
            Authenticator::new(&[listed.repeat(16)], &[settings]).unwrap()
        };
        let authenticator = Arc::new(tokens("a", "a"));
        let listed = verify(&authenticator, Some(&"a".repeat(16))).await.unwrap();
        let signed = Principal {
            realm: RealmId::from_subject("https://id.example", "ada"),
            sub: Some("ada".to_owned()),
            ..listed.clone()
        };
        for (new, is_revoked) in [
            (("a", "a"), [false, false]),
            (("a", "b"), [false, true]),
            (("b", "b"), [true, false]),
        ] {
            let revocations = [&listed, &signed]
                .map(|it| Box::pin(Authenticator::revocation(&authenticator, it)));
            let new = tokens(new.0, new.1).prepare_to_replace(&authenticator);
            let changes = authenticator.replace(new.await.unwrap());
            assert_eq!(changes.is_empty(), is_revoked == [false, false]);
            assert_eq!(changes.is_revoked(&listed.realm), is_revoked[0]);
            assert_eq!(changes.may_be_revoked(&signed.realm), is_revoked[1]);
            assert_eq!(
                revocations.map(|it| it.now_or_never().is_some()),
                is_revoked
            );
        }
    }

    #[tokio::test]
    async fn a_denial_ends_responses_and_has_requests_checked_again() {
        let denied = Arc::<DenyList>::default();
        let authenticator = Authenticator::new(&[], &[]).unwrap();
        let authenticator = Arc::new(authenticator.with_deny_list(Arc::clone(&denied)));
        let [one, other] = ["a", "b"].map(|it| it.repeat(16));
        let one = verify(&authenticator, Some(&one)).await.unwrap();
        let other = verify(&authenticator, Some(&other)).await.unwrap();
        let generation = authenticator.generation();
        let mut revocations =
            [&one, &other].map(|it| Box::pin(Authenticator::revocation(&authenticator, it)));
        for revocation in &mut revocations {
            assert!(revocation.now_or_never().is_none());
        }
        let denial = Denial::for_duration(Duration::from_secs(60));
        denied.deny(one.realm, denial).unwrap();
        authenticator.reverify();
        assert_ne!(authenticator.generation(), generation);
        let ended = revocations.map(|it| it.now_or_never().is_some());
        assert_eq!(ended, [true, false]);
    }
}
