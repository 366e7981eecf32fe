//! Calls that are not made.

use agent_tools::{CallOutput, CallStatus};

pub(super) fn invalid(reason: &str) -> CallOutput {
    let reason = format!("Not called: {reason}.");
    CallOutput::failed(CallStatus::InvalidArguments, reason)
}

pub(super) fn denied(reason: &str) -> CallOutput {
    CallOutput::failed(CallStatus::Denied, format!("Not called: {reason}."))
}
