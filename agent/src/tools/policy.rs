//! The policy of a call of a source. Each call passes all of it, in this order:
//!
//! 1. The profile allows the tool. What it does not allow is not offered to the model either.
//! 2. The arguments fit the schema.
//! 3. A person approves it, if the profile, the operator or the page lets them.
//! 4. The rate of the user is not exceeded.
//! 5. Few enough calls of the user, and of all users, run at the same time.
//! 6. The call ends within its time.
//!
//! The agent loop truncates the result. Whatever the outcome, the call is recorded. A line of the audit
//! file is reserved before it begins; without one it is not made.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bridge_schema::{Effort, Validator};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::access::SourceAccess;
use super::approval::{Approval, NotApproved};
use super::call_record::CallRecord;
use super::class::ToolEffect;
use super::offered_tool::OfferedTool;
use super::output::{CallOutcome, CallOutput};
use super::source::CallContext;

/// What the query does within a call of a source.
pub(crate) trait CallSteps: Sync {
    /// Lets a person approve the call, if it must be approved.
    fn approve(&self) -> impl Future<Output = Result<Option<Approval>, NotApproved>> + Send;

    /// Reports that the call begins.
    fn begin(&self) -> impl Future<Output = ()> + Send;
}

impl SourceAccess {
    /// Makes a call, if the policy allows it. Dropping the future cancels the call.
    pub(crate) async fn call(
        &self,
        offered: &Arc<OfferedTool>,
        arguments: Map<String, Value>,
        default_timeout: Duration,
        steps: &impl CallSteps,
    ) -> CallOutput {
        let mut record = self.record_source_call(offered, &arguments);
        let checked = self.check_and_call(offered, arguments, default_timeout, steps, &mut record);
        let mut output = checked.await.unwrap_or_else(|refused| refused);
        output.text = self.sources.records.redact(output.text);
        record.end(&output);
        output
    }

    /// Refuses a call of a tool that the query does not have: its profile does not allow it, or the
    /// page has restricted the tools.
    pub(crate) fn refuse(
        &self,
        offered: &OfferedTool,
        arguments: &Map<String, Value>,
    ) -> CallOutput {
        let output = denied();
        self.record_source_call(offered, arguments).end(&output);
        output
    }

    /// Returns the output of the call, or that of the check that has refused it.
    async fn check_and_call(
        &self,
        offered: &Arc<OfferedTool>,
        arguments: Map<String, Value>,
        default_timeout: Duration,
        steps: &impl CallSteps,
        record: &mut CallRecord<'_>,
    ) -> Result<CallOutput, CallOutput> {
        let profile = self
            .profile
            .as_ref()
            .filter(|profile| profile.allows(offered));
        let (profile, caller) = profile.zip(self.caller.as_ref()).ok_or_else(denied)?;
        let arguments = validate(Arc::clone(&offered.tool.arguments), arguments).await?;
        record.approval(steps.approve().await)?;
        let class = offered.tool.class;
        profile
            .check_rates(&caller.user, class)
            .map_err(rate_limited)?;
        let time = offered.tool.timeout.unwrap_or(default_timeout);
        let deadline = Instant::now() + time;
        let permit = timeout_at(deadline, offered.source.shares.acquire(&caller.user)).await;
        let _permit = permit.map_err(|_| busy(offered.source_name()))?;
        if !record.reserve_line() {
            return Err(not_audited());
        }
        steps.begin().await;
        let context = CallContext {
            user: caller.user.clone(),
        };
        let source = &offered.source;
        let calling = async {
            if let Err(failure) = source.started().await {
                return unavailable(offered.source_name(), &failure.message);
            }
            source
                .source
                .call(&offered.tool.name, arguments, &context)
                .await
        };
        timeout_at(deadline, calling)
            .await
            .map_err(|_| timed_out(time, class.effect))
    }
}

/// Checks arguments, on a thread that may block if that takes long.
pub(super) async fn validate(
    validator: Arc<Validator>,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, CallOutput> {
    let arguments = Value::Object(arguments);
    let inline = validator.try_validate(&arguments, Effort::Inline);
    let (result, arguments) = match inline {
        Some(result) => (result, arguments),
        None => {
            let validating = spawn_blocking(move || (validator.validate(&arguments), arguments));
            validating.await.map_err(|_| {
                CallOutput::failed(
                    CallOutcome::InvalidArguments,
                    "Its arguments cannot be checked.",
                )
            })?
        }
    };
    if let Err(violations) = result {
        let reason = format!("Not called: the arguments are wrong: {violations}");
        return Err(CallOutput::failed(CallOutcome::InvalidArguments, reason));
    }
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Ok(Map::new()),
    }
}

fn denied() -> CallOutput {
    CallOutput::failed(
        CallOutcome::Denied,
        "Not called: this tool is not allowed here. Do not request it again: go on without it, or say \
         what could not be done.",
    )
}

fn not_audited() -> CallOutput {
    CallOutput::failed(
        CallOutcome::Unavailable,
        "Not called: the audit file of the agent cannot be written. Go on without this tool.",
    )
}

fn rate_limited(wait: Duration) -> CallOutput {
    let seconds = wait.as_secs() + 1;
    let reason = format!(
        "Not called: too many calls of this kind were made. retryAfter: {seconds} s. Go on without \
         it, or say what could not be done."
    );
    CallOutput::failed(CallOutcome::RateLimited, reason)
}

pub(super) fn busy(source: &str) -> CallOutput {
    unavailable(source, "too many calls of it run at the same time")
}

pub(super) fn unavailable(source: &str, reason: &str) -> CallOutput {
    let reason = format!(
        "Not called: the source `{source}` cannot be used at the moment: {reason}. Go on without \
         it."
    );
    CallOutput::failed(CallOutcome::Unavailable, reason)
}

pub(super) fn timed_out(time: Duration, effect: ToolEffect) -> CallOutput {
    let time = humantime::format_duration(time);
    let consequence = match effect {
        ToolEffect::Read => "",
        _ => " It may have happened all the same: check before you request it again.",
    };
    let reason = format!("The tool did not answer within {time}, and was cancelled.{consequence}");
    CallOutput::failed(CallOutcome::Timeout, reason)
}
