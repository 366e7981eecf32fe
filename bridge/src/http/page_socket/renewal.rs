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

use super::Page;
use super::admission::verified;
use crate::auth::{Principal, RealmId, Scope, TokenRefusal, Tokens};
use crate::realm::Effect;

/// A token that is checked, and one that waits. A page that sends more is not in need of one.
const WAITING: usize = 1;

/// Fresh tokens that are to be checked, one after another.
pub(super) struct Renewals {
    checking: BoxFuture<'static, Result<Principal, TokenRefusal>>,
    waiting: VecDeque<Renew>,
}

impl Renewals {
    /// Ready when the last has been checked.
    pub(super) fn poll(&mut self, page: &Page, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match ready!(self.checking.as_mut().poll(cx)) {
                Ok(principal) => page.renewed(&principal),
                Err(refusal) => page.renewal_failed(refusal),
            }
            match self.waiting.pop_front() {
                Some(fresh) => self.checking = page.check(fresh),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl Page {
    /// The page has sent a fresh token.
    pub(super) fn renew(&self, renewals: &mut Option<Box<Renewals>>, fresh: Renew) {
        match renewals {
            None => {
                *renewals = Some(Box::new(Renewals {
                    checking: self.check(fresh),
                    waiting: VecDeque::new(),
                }));
            }
            Some(renewals) if renewals.waiting.len() < WAITING => {
                renewals.waiting.push_back(fresh);
            }
            Some(_) => self.renewal_failed(TokenRefusal {
                code: ErrorCode::ProtocolViolation,
                message: "a renewal is under way: wait for its end".to_owned(),
            }),
        }
    }

    fn check(&self, fresh: Renew) -> BoxFuture<'static, Result<Principal, TokenRefusal>> {
        let tokens = Arc::clone(&self.tokens);
        Box::pin(same_realm(tokens, self.realm, fresh))
    }

    fn renewed(&self, principal: &Principal) {
        let ends_at = principal.ends_at().map(Instant::into_std);
        let may_ask = principal.scopes.contains(Scope::Query);
        let person = principal.person();
        self.hub.change(self.realm, |realm, now| {
            let (session, connection) = (&self.session, self.connection);
            let renewed = realm.page_renewed(session, connection, ends_at, may_ask, person, now);
            ((), renewed)
        });
    }

    fn renewal_failed(&self, refusal: TokenRefusal) {
        let failed = Effect::Send {
            connection: self.connection,
            message: BridgeToPage::RenewalFailed(RenewalFailed {
                error: refusal.message,
                code: refusal.code,
            }),
        };
        self.hub.change(self.realm, |_, _| ((), vec![failed]));
    }
}

async fn same_realm(
    tokens: Arc<Tokens>,
    realm: RealmId,
    fresh: Renew,
) -> Result<Principal, TokenRefusal> {
    let principal = verified(&tokens, Some(&fresh.auth_token)).await?;
    if principal.realm == realm {
        return Ok(principal);
    }
    Err(TokenRefusal {
        code: ErrorCode::InvalidAuthentication,
        message: "the fresh token names somebody else: connect anew to become another subject"
            .to_owned(),
    })
}
