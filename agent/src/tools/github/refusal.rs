//! Calls that are not made.

use crate::tools::output::{CallOutcome, CallOutput};

pub(super) fn invalid(reason: &str) -> CallOutput {
    let reason = format!("Not called: {reason}.");
    CallOutput::failed(CallOutcome::InvalidArguments, reason)
}

pub(super) fn denied(reason: &str) -> CallOutput {
    CallOutput::failed(CallOutcome::Denied, format!("Not called: {reason}."))
}
