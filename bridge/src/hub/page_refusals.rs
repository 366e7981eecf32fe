//! What the messages of a bridge to its pages refuse.

use bridge_protocol::{BridgeToPage, ErrorCode};
use bridge_service::ClientAddress;

use crate::budget::{RefusalKind, RefusalLog};

/// Records what a message to a page refuses, if it refuses something.
pub(super) fn record(
    log: &RefusalLog,
    message: &BridgeToPage,
    address: impl Fn() -> ClientAddress,
) {
    let record = |code, reason: &str| {
        if let Some(kind) = RefusalKind::from_code(code) {
            log.record(kind, address(), "/ws", reason);
        }
    };
    match message {
        BridgeToPage::Registered(registered) => {
            for error in &registered.errors {
                record(error.code, &error.message);
            }
        }
        BridgeToPage::RenewalFailed(failed) => record(failed.code, &failed.error),
        // Agents report codes of their own.
        BridgeToPage::QueryFailure(failure) if failure.code == ErrorCode::QueryLimitExceeded => {
            record(failure.code, &failure.error);
        }
        _ => {}
    }
}
