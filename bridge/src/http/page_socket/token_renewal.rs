//! A page renews its token on the open socket: the connection and its calls continue.
//!
//! Verifying a token may have to wait for the keys of its issuer, so it runs beside reading from the
//! socket and does not delay the page's responses.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bridge_auth::{AuthError, Principal, Scope};
use bridge_protocol::{BridgeToPage, ErrorCode, Renew, RenewalFailed};
use bridge_realm::realm::Effect;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::handshake::require_page_scope;
use super::page_session::PageSession;

/// How many renewals wait while one is verified. A page needs no more than the newest.
const MAX_WAITING_RENEWALS: usize = 1;

/// The renewal that is being verified, and those that wait for it.
pub(super) struct TokenRenewals {
    verification: BoxFuture<'static, Result<Principal, AuthError>>,
    waiting: VecDeque<Renew>,
}

impl TokenRenewals {
    /// Ready when the last renewal has been verified.
    pub(super) fn poll(&mut self, page: &PageSession, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match ready!(self.verification.as_mut().poll(cx)) {
                Ok(principal) => page.on_renewed(&principal),
                Err(error) => page.on_renewal_failed(error),
            }
            match self.waiting.pop_front() {
                Some(renewal) => self.verification = page.start_verification(renewal),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl PageSession {
    /// Starts to verify a new token, or queues it behind the one that is being verified.
    pub(super) fn renew(&self, renewals: &mut Option<Box<TokenRenewals>>, renewal: Renew) {
        match renewals {
            None => {
                *renewals = Some(Box::new(TokenRenewals {
                    verification: self.start_verification(renewal),
                    waiting: VecDeque::new(),
                }));
            }
            Some(renewals) if renewals.waiting.len() < MAX_WAITING_RENEWALS => {
                renewals.waiting.push_back(renewal);
            }
            Some(_) => self.on_renewal_failed(AuthError {
                code: ErrorCode::ProtocolViolation,
                message: "a renewal is under way: wait for its end".to_owned(),
            }),
        }
    }

    fn start_verification(
        &self,
        renewal: Renew,
    ) -> BoxFuture<'static, Result<Principal, AuthError>> {
        let (authenticator, realm) = (Arc::clone(&self.authenticator), self.realm);
        let client = self.address();
        Box::pin(async move {
            let token = Some(renewal.auth_token.as_str());
            let principal = authenticator.verify(token, client).await?;
            if principal.realm == realm {
                require_page_scope(&principal)?;
            }
            Ok(principal)
        })
    }

    /// The token is valid. A token of another user ends the session, whatever else it grants.
    fn on_renewed(&self, principal: &Principal) {
        let (session, connection) = (&self.session, self.connection);
        if principal.realm != self.realm {
            self.hub.apply(self.realm, |realm, now| {
                ((), realm.user_changed(session, connection, now))
            });
            return;
        }
        let expires_at = principal.expires_at().map(Instant::into_std);
        let may_query = principal.scopes.contains(Scope::Query);
        let subject = principal.subject();
        self.hub.apply(self.realm, |realm, now| {
            let effects =
                realm.token_renewed(session, connection, expires_at, may_query, subject, now);
            ((), effects)
        });
    }

    fn on_renewal_failed(&self, error: AuthError) {
        let failed = Effect::Send {
            connection: self.connection,
            message: BridgeToPage::RenewalFailed(RenewalFailed {
                error: error.message,
                code: error.code,
            }),
        };
        self.hub.apply(self.realm, |_, _| ((), vec![failed]));
    }
}
