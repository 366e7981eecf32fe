//! Asks a provider again that is busy, broken or out of reach, as long as it has not said anything:
//! what was said once is not said twice.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::ErrorCode;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use super::{Event, Model, Request};
use crate::failure::Failure;

/// Something that asks a provider once.
pub(super) trait ProviderAttempt: Send + Sync + fmt::Debug + 'static {
    /// As [`Model::label`].
    fn label(&self) -> &str;

    /// As [`Model::turn`].
    fn attempt(&self, request: &Request) -> BoxStream<'static, Result<Event, AttemptError>>;
}

/// Why an attempt has failed, and whether another one may do better.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AttemptError {
    pub(super) failure: Failure,
    pub(super) retry: RetryDecision,
}

/// Whether to ask again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RetryDecision {
    Never,
    /// When one thinks fit.
    Backoff,
    /// The provider says when.
    After(Duration),
}

impl AttemptError {
    pub(super) fn permanent(failure: Failure) -> Self {
        let retry = RetryDecision::Never;
        Self { failure, retry }
    }
}

/// A model that asks again.
#[derive(Debug)]
pub(super) struct RetryingModel<A> {
    provider: Arc<A>,
    retries: u32,
}

impl<A: ProviderAttempt> RetryingModel<A> {
    pub(super) fn new(asks: A, retries: u32) -> Self {
        let provider = Arc::new(asks);
        Self { provider, retries }
    }
}

impl<A: ProviderAttempt> Model for RetryingModel<A> {
    fn label(&self) -> &str {
        self.provider.label()
    }

    fn turn(&self, request: Request) -> BoxStream<'static, Result<Event, Failure>> {
        let asking = RetryStream {
            provider: self.provider.clone(),
            request,
            retries: self.retries,
            failed_attempts: 0,
            has_output: false,
            delay: None,
            events: None,
        };
        stream::unfold(Some(asking), |asking| async { asking?.next().await }).boxed()
    }
}

/// A turn on its way.
struct RetryStream<A> {
    provider: Arc<A>,
    request: Request,
    retries: u32,
    /// How many attempts have.
    failed_attempts: u32,
    has_output: bool,
    /// Before the next attempt.
    delay: Option<Duration>,
    events: Option<BoxStream<'static, Result<Event, AttemptError>>>,
}

/// What comes next, and what goes on after it.
type Step<A> = Option<(Result<Event, Failure>, Option<RetryStream<A>>)>;

impl<A: ProviderAttempt> RetryStream<A> {
    async fn next(mut self) -> Step<A> {
        if let Some(wait) = self.delay.take() {
            tokio::time::sleep(wait).await;
        }
        let answer = match &mut self.events {
            Some(answer) => answer,
            none => none.insert(self.provider.attempt(&self.request)),
        };
        match answer.next().await? {
            Ok(event @ Event::End { .. }) => Some((Ok(event), None)),
            Ok(event) => {
                self.has_output = true;
                Some((Ok(event), Some(self)))
            }
            Err(trouble) => Some(self.on_error(trouble)),
        }
    }

    /// Says that it waits, or fails.
    fn on_error(mut self, trouble: AttemptError) -> (Result<Event, Failure>, Option<Self>) {
        // Closes the connection.
        self.events = None;
        let AttemptError {
            failure,
            retry: again,
        } = trouble;
        let wait = match self.has_output || self.failed_attempts >= self.retries {
            true => None,
            false => retry_delay(again, self.failed_attempts),
        };
        self.failed_attempts += 1;
        let Some(wait) = wait else {
            return (
                Err(with_attempts(failure, again, self.failed_attempts)),
                None,
            );
        };
        let note = format!(
            "{}: trying again in {} s",
            retry_reason(&failure),
            whole_seconds(wait)
        );
        self.delay = Some(wait);
        (Ok(Event::Note(note)), Some(self))
    }
}

/// Before the first other attempt; doubled before each that follows.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// A provider that wants more time is not waited for: the person is waiting too.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// How long to wait, a little at random, so that those who failed together do not come back
/// together.
fn retry_delay(again: RetryDecision, failed: u32) -> Option<Duration> {
    match again {
        RetryDecision::Never => None,
        RetryDecision::After(time) if time > MAX_RETRY_DELAY => None,
        RetryDecision::After(time) => Some(time + INITIAL_BACKOFF.mul_f64(random_fraction())),
        RetryDecision::Backoff => {
            let full = INITIAL_BACKOFF
                .saturating_mul(1 << failed.min(5))
                .min(MAX_RETRY_DELAY);
            Some(full.mul_f64(0.5 + random_fraction() / 2.0))
        }
    }
}

/// From 0 to 1. The keys of a hasher are the only randomness of the standard library.
fn random_fraction() -> f64 {
    f64::from(RandomState::new().hash_one(()) as u32) / f64::from(u32::MAX)
}

fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

fn retry_reason(failure: &Failure) -> &'static str {
    match failure.code {
        ErrorCode::ModelRateLimited => "the model is busy",
        _ => "the model is not available",
    }
}

/// The failure, with what was tried.
fn with_attempts(failure: Failure, again: RetryDecision, attempts: u32) -> Failure {
    let tried = match (again, attempts) {
        (RetryDecision::After(time), _) if time > MAX_RETRY_DELAY => {
            format!(" (it asks to wait for {} s)", whole_seconds(time))
        }
        (_, 1) => return failure,
        (_, attempts) => format!(" (asked {attempts} times)"),
    };
    let message = format!("{}{tried}", failure.message);
    Failure { message, ..failure }
}

#[cfg(test)]
mod tests;
