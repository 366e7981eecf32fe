//! A fresh token on an open socket: the connection lives on, and no call is lost.
//!
//! Checking a token may wait for the keys of its issuer. So it happens beside reading, and the
//! page's answers are not held up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bridge_protocol::{BridgeToPage, ErrorCode, Renew, RenewalFailed};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::PageSession;
use crate::http::page_socket::handshake::verify_page_token;
use bridge_auth::{AuthError, Authenticator, Principal, RealmId, Scope};
use bridge_realm::realm::Effect;

/// A token that is checked, and one that waits. A page that sends more is not in need of one.
const MAX_WAITING_RENEWALS: usize = 1;

/// Fresh tokens that are to be checked, one after another.
pub(super) struct TokenRenewals {
    verification: BoxFuture<'static, Result<Principal, AuthError>>,
    waiting: VecDeque<Renew>,
}

impl TokenRenewals {
    /// Ready when the last has been checked.
    pub(super) fn poll(&mut self, page: &PageSession, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match ready!(self.verification.as_mut().poll(cx)) {
                Ok(principal) => page.on_renewed(&principal),
                Err(refusal) => page.on_renewal_failed(refusal),
            }
            match self.waiting.pop_front() {
                Some(fresh) => self.verification = page.start_verification(fresh),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl PageSession {
    /// The page has sent a fresh token.
    pub(super) fn renew(&self, renewals: &mut Option<Box<TokenRenewals>>, fresh: Renew) {
        match renewals {
            None => {
                *renewals = Some(Box::new(TokenRenewals {
                    verification: self.start_verification(fresh),
                    waiting: VecDeque::new(),
                }));
            }
            Some(renewals) if renewals.waiting.len() < MAX_WAITING_RENEWALS => {
                renewals.waiting.push_back(fresh);
            }
            Some(_) => self.on_renewal_failed(AuthError {
                code: ErrorCode::ProtocolViolation,
                message: "a renewal is under way: wait for its end".to_owned(),
            }),
        }
    }

    fn start_verification(&self, fresh: Renew) -> BoxFuture<'static, Result<Principal, AuthError>> {
        let tokens = Arc::clone(&self.authenticator);
        Box::pin(verify_same_realm(tokens, self.realm, fresh))
    }

    fn on_renewed(&self, principal: &Principal) {
        let ends_at = principal.expires_at().map(Instant::into_std);
        let may_ask = principal.scopes.contains(Scope::Query);
        let person = principal.subject();
        self.hub.apply(self.realm, |realm, now| {
            let (session, connection) = (&self.session, self.connection);
            let renewed = realm.token_renewed(session, connection, ends_at, may_ask, person, now);
            ((), renewed)
        });
    }

    fn on_renewal_failed(&self, refusal: AuthError) {
        let failed = Effect::Send {
            connection: self.connection,
            message: BridgeToPage::RenewalFailed(RenewalFailed {
                error: refusal.message,
                code: refusal.code,
            }),
        };
        self.hub.apply(self.realm, |_, _| ((), vec![failed]));
    }
}

async fn verify_same_realm(
    tokens: Arc<Authenticator>,
    realm: RealmId,
    fresh: Renew,
) -> Result<Principal, AuthError> {
    let principal = verify_page_token(&tokens, Some(&fresh.auth_token)).await?;
    if principal.realm == realm {
        return Ok(principal);
    }
    Err(AuthError {
        code: ErrorCode::InvalidAuthentication,
        message: "the fresh token names somebody else: connect anew to become another subject"
            .to_owned(),
    })
}
