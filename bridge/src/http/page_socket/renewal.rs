//! A fresh token on an open socket: the connection lives on, and no call is lost.
//!
//! Checking a token may wait for the keys of its issuer. So it happens beside reading, and the
//! page's answers are not held up.

use std::convert::Infallible;

use bridge_protocol::{BridgeToPage, ErrorCode, Renew, RenewalFailed};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Page;
use super::admission::verified;
use crate::auth::{Principal, Scope, TokenRefusal};
use crate::realm::Effect;

/// A token that is checked, and one that waits. A page that sends more is not in need of one.
const WAITING: usize = 1;

/// Where tokens wait to be checked.
pub(super) fn line() -> (mpsc::Sender<Renew>, mpsc::Receiver<Renew>) {
    mpsc::channel(WAITING)
}

impl Page {
    /// The page has sent a fresh token.
    pub(super) fn renew(&self, line: &mpsc::Sender<Renew>, fresh: Renew) {
        if line.try_send(fresh).is_err() {
            self.renewal_failed(TokenRefusal {
                code: ErrorCode::ProtocolViolation,
                message: "a renewal is under way: wait for its end".to_owned(),
            });
        }
    }

    /// Checks fresh tokens, one after another, as long as the page is connected.
    pub(super) async fn check_fresh_tokens(&self, mut line: mpsc::Receiver<Renew>) -> Infallible {
        loop {
            // The sender lives as long as the reading that it is for, and so does this.
            let Some(fresh) = line.recv().await else {
                return std::future::pending().await;
            };
            match self.same_realm(&fresh.auth_token).await {
                Ok(principal) => self.renewed(&principal),
                Err(refusal) => self.renewal_failed(refusal),
            }
        }
    }

    async fn same_realm(&self, token: &str) -> Result<Principal, TokenRefusal> {
        let principal = verified(&self.tokens, Some(token)).await?;
        if principal.realm == self.realm {
            return Ok(principal);
        }
        Err(TokenRefusal {
            code: ErrorCode::InvalidAuthentication,
            message: "the fresh token names somebody else: connect anew to become another subject"
                .to_owned(),
        })
    }

    fn renewed(&self, principal: &Principal) {
        let ends_at = principal.ends_at().map(Instant::into_std);
        let may_ask = principal.scopes.contains(Scope::Query);
        self.hub.change(self.realm, |realm, now| {
            let effects = realm.page_renewed(&self.session, self.connection, ends_at, may_ask, now);
            ((), effects)
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
