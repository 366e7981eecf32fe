//! Retries attempts at a provider that is busy, broken or unreachable, as long as the provider has
//! not produced any output: output that was sent once is not repeated.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_protocol::ErrorCode;
use chrono::NaiveDate;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use super::{Model, ModelEvent, Price, TurnRequest};

/// The delay before the first retry. It is doubled for each further one.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// The longest delay. A provider that requests a longer one is not retried, because the person is
/// waiting.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// A provider that makes one attempt at a turn.
pub(super) trait ProviderAttempt: Send + Sync + fmt::Debug + 'static {
    /// Returns provider and model, as in [`Model::label`].
    fn label(&self) -> &str;

    /// Returns the name of the model, as in [`Model::name`].
    fn name(&self) -> &str;

    /// Returns the provider, as [`Model::provider`].
    fn provider(&self) -> &'static str;

    /// Returns the price of the model, as [`Model::price`].
    fn price(&self, day: NaiveDate) -> Option<Price>;

    /// Returns the most tokens of a turn, as [`Model::max_output_tokens`].
    fn max_output_tokens(&self, of_answer: u32) -> u32;

    /// Returns whether the model reads this media type, as [`Model::reads_media`].
    fn reads_media(&self, mime_type: &str) -> bool;

    /// Starts an attempt. Its stream ends like that of [`Model::turn`].
    fn attempt(
        &self,
        request: &TurnRequest,
    ) -> BoxStream<'static, Result<ModelEvent, AttemptError>>;
}

/// Why an attempt has failed, and whether another one may succeed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AttemptError {
    pub(super) failure: AgentFailure,
    pub(super) retry: RetryDecision,
}

/// Whether and when to retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RetryDecision {
    Never,
    /// With exponential backoff.
    Backoff,
    /// After the delay that the provider asks for.
    After(Duration),
}

impl AttemptError {
    pub(super) fn permanent(failure: AgentFailure) -> Self {
        let retry = RetryDecision::Never;
        Self { failure, retry }
    }
}

/// A model that retries the attempts of a provider.
#[derive(Debug)]
pub(super) struct RetryingModel<A> {
    provider: Arc<A>,
    retries: u32,
}

impl<A: ProviderAttempt> RetryingModel<A> {
    pub(super) fn new(provider: A, retries: u32) -> Self {
        let provider = Arc::new(provider);
        Self { provider, retries }
    }
}

impl<A: ProviderAttempt> Model for RetryingModel<A> {
    fn label(&self) -> &str {
        self.provider.label()
    }

    fn name(&self) -> &str {
        self.provider.name()
    }

    fn provider(&self) -> &'static str {
        self.provider.provider()
    }

    fn price(&self, day: NaiveDate) -> Option<Price> {
        self.provider.price(day)
    }

    fn max_output_tokens(&self, of_answer: u32) -> u32 {
        self.provider.max_output_tokens(of_answer)
    }

    fn reads_media(&self, mime_type: &str) -> bool {
        self.provider.reads_media(mime_type)
    }

    fn turn(&self, request: TurnRequest) -> BoxStream<'static, Result<ModelEvent, AgentFailure>> {
        let stream = RetryStream {
            provider: self.provider.clone(),
            request,
            retries: self.retries,
            failed_attempts: 0,
            has_output: false,
            delay: None,
            events: None,
        };
        stream::unfold(Some(stream), |stream| async { stream?.next().await }).boxed()
    }
}

/// The state of a turn across its attempts.
struct RetryStream<A> {
    provider: Arc<A>,
    request: TurnRequest,
    retries: u32,
    failed_attempts: u32,
    has_output: bool,
    /// The delay before the next attempt.
    delay: Option<Duration>,
    events: Option<BoxStream<'static, Result<ModelEvent, AttemptError>>>,
}

/// The next item of the stream, and the state for the items after it.
type Step<A> = Option<(Result<ModelEvent, AgentFailure>, Option<RetryStream<A>>)>;

impl<A: ProviderAttempt> RetryStream<A> {
    async fn next(mut self) -> Step<A> {
        if let Some(delay) = self.delay.take() {
            tokio::time::sleep(delay).await;
        }
        let Some(events) = &mut self.events else {
            self.events = Some(self.provider.attempt(&self.request));
            return Some((Ok(ModelEvent::Started), Some(self)));
        };
        match events.next().await? {
            Ok(event @ ModelEvent::End { .. }) => Some((Ok(event), None)),
            Ok(event) => {
                let is_count = matches!(event, ModelEvent::Usage(_) | ModelEvent::Spent(_));
                self.has_output |= !is_count;
                Some((Ok(event), Some(self)))
            }
            Err(error) => Some(self.on_error(error)),
        }
    }

    /// Handles a failed attempt: announces a retry with a note, or ends the turn with the failure.
    fn on_error(mut self, error: AttemptError) -> (Result<ModelEvent, AgentFailure>, Option<Self>) {
        // This closes the connection.
        self.events = None;
        let AttemptError { failure, retry } = error;
        let delay = if self.has_output || self.failed_attempts >= self.retries {
            None
        } else {
            retry_delay(retry, self.failed_attempts)
        };
        self.failed_attempts += 1;
        let Some(delay) = delay else {
            let failure = with_attempts(failure, retry, self.failed_attempts);
            return (Err(failure), None);
        };
        let note = format!(
            "{}: trying again in {} s",
            retry_reason(&failure),
            whole_seconds(delay)
        );
        self.delay = Some(delay);
        (Ok(ModelEvent::Note(note)), Some(self))
    }
}

/// Returns the delay before the next attempt, or `None` if there is none. It is partly random, so
/// that clients that failed together do not retry together.
fn retry_delay(retry: RetryDecision, failed_attempts: u32) -> Option<Duration> {
    match retry {
        RetryDecision::Never => None,
        RetryDecision::After(delay) if delay > MAX_RETRY_DELAY => None,
        RetryDecision::After(delay) => Some(delay + INITIAL_BACKOFF.mul_f64(random_fraction())),
        RetryDecision::Backoff => {
            let full = INITIAL_BACKOFF
                .saturating_mul(1 << failed_attempts.min(5))
                .min(MAX_RETRY_DELAY);
            Some(full.mul_f64(0.5 + random_fraction() / 2.0))
        }
    }
}

/// Returns a random number from 0 to 1. The keys of a hasher are the only randomness in the
/// standard library.
fn random_fraction() -> f64 {
    f64::from(RandomState::new().hash_one(()) as u32) / f64::from(u32::MAX)
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

fn retry_reason(failure: &AgentFailure) -> &'static str {
    match failure.code {
        ErrorCode::ModelRateLimited => "the model is busy",
        _ => "the model is not available",
    }
}

/// Appends to the message of a failure the number of attempts, or the reason why it was not
/// retried.
fn with_attempts(failure: AgentFailure, retry: RetryDecision, attempts: u32) -> AgentFailure {
    let suffix = match (retry, attempts) {
        (RetryDecision::After(delay), _) if delay > MAX_RETRY_DELAY => {
            format!(" (it asks to wait for {} s)", whole_seconds(delay))
        }
        (_, 1) => return failure,
        (_, attempts) => format!(" (asked {attempts} times)"),
    };
    let append = |message: String| format!("{message}{suffix}");
    AgentFailure {
        message: append(failure.message),
        log_message: failure.log_message.map(append),
        ..failure
    }
}

#[cfg(test)]
mod tests;
