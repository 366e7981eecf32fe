//! The steps of every call of a tool, in their order. They are the same for tools of sources, of
//! the page and of the client: the [`CallProfile`] of a call says which of them do not apply to it.
//!
//! Every call is recorded, whatever its outcome. A step that fails ends the call with a text for
//! the model.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bridge_schema::Effort;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::approval::Approval;
use crate::call_profile::CallProfile;
use crate::call_record::AuditedCall;
use crate::output::CallOutput;
use crate::redaction::without_secrets;
use crate::refusal::{
    busy, denied, invalid_arguments, not_approved, not_audited, rate_limited, timed_out,
    unchecked_arguments,
};
use crate::user_shares::CallPermit;

/// The parts of a call that its caller provides.
pub trait CallSteps: Send {
    /// The result of a call, in the shape that its reader needs.
    type Output;
    /// A failure that ends more than the call.
    type Error: Send;

    /// Asks a person to approve the call, at most this long.
    fn ask_person(&mut self, timeout: Duration) -> impl Future<Output = Approval> + Send;

    /// Reports that the call begins.
    fn begin(&mut self) -> impl Future<Output = ()> + Send;

    /// Runs the tool. Dropping the future cancels the call.
    fn run(
        &mut self,
        arguments: Map<String, Value>,
    ) -> impl Future<Output = Result<CallOutput, Self::Error>> + Send;

    /// Shortens the output for its reader.
    fn shape(&mut self, output: CallOutput) -> Self::Output;
}

/// Why a call ends before its tool has answered.
enum Stop<E> {
    Refused(CallOutput),
    Failed(E),
}

impl<E> From<CallOutput> for Stop<E> {
    fn from(output: CallOutput) -> Self {
        Self::Refused(output)
    }
}

/// Makes a call, and ends it exactly once. Dropping the future cancels the call.
pub async fn call<S: CallSteps>(
    profile: &CallProfile<'_>,
    arguments: Map<String, Value>,
    steps: &mut S,
) -> Result<S::Output, S::Error> {
    let mut record = profile.recorded.map(|call| call.begin(&arguments));
    let mut output = match pass_steps(profile, arguments, steps, record.as_mut()).await {
        Ok(output) | Err(Stop::Refused(output)) => output,
        Err(Stop::Failed(error)) => return Err(error),
    };
    output.text = without_secrets(output.text, profile.secrets);
    if let Some(record) = record {
        record.end(&output);
    }
    Ok(steps.shape(output))
}

async fn pass_steps<S: CallSteps>(
    profile: &CallProfile<'_>,
    arguments: Map<String, Value>,
    steps: &mut S,
    mut record: Option<&mut AuditedCall<'_>>,
) -> Result<CallOutput, Stop<S::Error>> {
    allow(profile)?;
    let arguments = validate(profile, arguments).await?;
    approve(profile, record.as_deref_mut(), steps).await?;
    rate(profile)?;
    let (_permit, deadline) = share(profile).await?;
    audit(record)?;
    steps.begin().await;
    run(profile, deadline, steps.run(arguments)).await
}

/// Refuses a tool that the caller may not use. Such tools are not offered either.
fn allow(profile: &CallProfile<'_>) -> Result<(), CallOutput> {
    profile.is_allowed.then_some(()).ok_or_else(denied)
}

/// Checks the arguments, on a thread that may block if that takes long.
async fn validate(
    profile: &CallProfile<'_>,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, CallOutput> {
    let Some(validator) = profile.validator else {
        return Ok(arguments);
    };
    let arguments = Value::Object(arguments);
    let inline = validator.try_validate(&arguments, Effort::Inline);
    let (result, arguments) = match inline {
        Some(result) => (result, arguments),
        None => {
            let validator = Arc::clone(validator);
            let validating = spawn_blocking(move || (validator.validate(&arguments), arguments));
            validating.await.map_err(|_| unchecked_arguments())?
        }
    };
    result.map_err(|violations| invalid_arguments(&violations))?;
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Ok(Map::new()),
    }
}

/// Lets a person approve the call, and records the answer.
async fn approve(
    profile: &CallProfile<'_>,
    record: Option<&mut AuditedCall<'_>>,
    steps: &mut impl CallSteps,
) -> Result<(), CallOutput> {
    let Some(timeout) = profile.approval_timeout else {
        return Ok(());
    };
    let approval = steps.ask_person(timeout).await;
    if let Some(record) = record {
        record.approval(approval);
    }
    match approval {
        Approval::Granted => Ok(()),
        approval => Err(not_approved(approval, timeout)),
    }
}

/// Counts the call of the user.
fn rate(profile: &CallProfile<'_>) -> Result<(), CallOutput> {
    let Some(rates) = profile.rates else {
        return Ok(());
    };
    let checked = rates.check_rates(profile.user, profile.class);
    checked.map_err(rate_limited)
}

/// Waits until few enough calls of the user, and of all users, run at the same time. Also returns the
/// deadline of the call, if its time has begun.
async fn share(
    profile: &CallProfile<'_>,
) -> Result<(Option<CallPermit>, Option<Instant>), CallOutput> {
    let Some(shares) = profile.shares else {
        return Ok((None, None));
    };
    let deadline = profile.deadline().filter(|_| profile.is_wait_timed);
    let permit = within(deadline, shares.acquire(profile.user)).await;
    let permit = permit.ok_or_else(|| busy(profile.source))?;
    Ok((Some(permit), deadline))
}

/// Reserves a line of the audit file, if the call must not be made without one.
fn audit(record: Option<&mut AuditedCall<'_>>) -> Result<(), CallOutput> {
    let has_line = record.is_none_or(AuditedCall::reserve_line);
    has_line.then_some(()).ok_or_else(not_audited)
}

/// Waits for the tool. A call that exceeds its time is dropped, which cancels it.
async fn run<E>(
    profile: &CallProfile<'_>,
    deadline: Option<Instant>,
    running: impl Future<Output = Result<CallOutput, E>>,
) -> Result<CallOutput, Stop<E>> {
    let deadline = deadline.or_else(|| profile.deadline());
    match within(deadline, running).await {
        Some(output) => output.map_err(Stop::Failed),
        None => Err(timed_out(profile.time.unwrap_or_default(), profile.class.effect).into()),
    }
}

/// Waits for a future until the deadline, if there is one.
async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}
