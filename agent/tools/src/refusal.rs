//! The outputs of calls that a step of the [`pipeline`](super::pipeline) has ended, for the model.

use std::time::Duration;

use bridge_schema::ValidationFailure;

use crate::approval::Approval;
use crate::class::ToolEffect;
use crate::output::{CallOutput, CallStatus};

pub(super) fn denied() -> CallOutput {
    CallOutput::failed(
        CallStatus::Denied,
        format!("Not called: this tool is not allowed here. {DENIED_REMEDY}"),
    )
}

pub(super) fn invalid_arguments(violations: &ValidationFailure) -> CallOutput {
    let reason = format!("Not called: the arguments are wrong: {violations}");
    CallOutput::failed(CallStatus::InvalidArguments, reason)
}

pub(super) fn unchecked_arguments() -> CallOutput {
    CallOutput::failed(
        CallStatus::InvalidArguments,
        "Its arguments cannot be checked.",
    )
}

pub(super) fn not_approved(approval: Approval, timeout: Duration) -> CallOutput {
    let reason = match approval {
        Approval::Expired => {
            let timeout = humantime::format_duration(timeout);
            format!("Nobody approved this call within {timeout}.")
        }
        _ => "The person did not approve this call.".to_owned(),
    };
    CallOutput::failed(CallStatus::Denied, format!("{reason} {DENIED_REMEDY}"))
}

pub(super) fn rate_limited(wait: Duration) -> CallOutput {
    let seconds = wait.as_secs() + 1;
    let reason = format!(
        "Not called: too many calls of this kind were made. retryAfter: {seconds} s. Continue without \
         it, or say what could not be done."
    );
    CallOutput::failed(CallStatus::RateLimited, reason)
}

pub(super) fn busy(source: &str) -> CallOutput {
    unavailable(source, "too many calls of it run at the same time")
}

pub(super) fn unavailable(source: &str, reason: &str) -> CallOutput {
    let reason = format!(
        "Not called: the source `{source}` cannot be used at the moment: {reason}. Continue without \
         it."
    );
    CallOutput::failed(CallStatus::Unavailable, reason)
}

pub(super) fn not_audited() -> CallOutput {
    CallOutput::failed(
        CallStatus::Unavailable,
        "Not called: the audit file of the agent cannot be written. Continue without this tool.",
    )
}

pub(super) fn timed_out(time: Duration, effect: ToolEffect) -> CallOutput {
    let time = humantime::format_duration(time);
    let consequence = match effect {
        ToolEffect::Read => "",
        _ => " It may have happened all the same: check before you request it again.",
    };
    let reason = format!("The tool did not answer within {time}, and was cancelled.{consequence}");
    CallOutput::failed(CallStatus::Timeout, reason)
}

/// Advice to the model about a call that is not allowed, or was not approved.
const DENIED_REMEDY: &str =
    "Do not request it again: continue without it, or say what could not be done.";
