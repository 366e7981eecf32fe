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
pub(super) trait Attempt: Send + Sync + fmt::Debug + 'static {
    /// As [`Model::label`].
    fn label(&self) -> &str;

    /// As [`Model::turn`].
    fn attempt(&self, request: &Request) -> BoxStream<'static, Result<Event, Trouble>>;
}

/// Why an attempt has failed, and whether another one may do better.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) again: Again,
}

/// Whether to ask again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Again {
    Never,
    /// When one thinks fit.
    Soon,
    /// The provider says when.
    After(Duration),
}

impl Trouble {
    pub(super) fn last(failure: Failure) -> Self {
        let again = Again::Never;
        Self { failure, again }
    }
}

/// A model that asks again.
#[derive(Debug)]
pub(super) struct Retrying<A> {
    asks: Arc<A>,
    retries: u32,
}

impl<A: Attempt> Retrying<A> {
    pub(super) fn new(asks: A, retries: u32) -> Self {
        let asks = Arc::new(asks);
        Self { asks, retries }
    }
}

impl<A: Attempt> Model for Retrying<A> {
    fn label(&self) -> &str {
        self.asks.label()
    }

    fn turn(&self, request: Request) -> BoxStream<'static, Result<Event, Failure>> {
        let asking = Asking {
            asks: self.asks.clone(),
            request,
            retries: self.retries,
            failed: 0,
            has_spoken: false,
            wait: None,
            answer: None,
        };
        stream::unfold(Some(asking), |asking| async { asking?.next().await }).boxed()
    }
}

/// A turn on its way.
struct Asking<A> {
    asks: Arc<A>,
    request: Request,
    retries: u32,
    /// How many attempts have.
    failed: u32,
    has_spoken: bool,
    /// Before the next attempt.
    wait: Option<Duration>,
    answer: Option<BoxStream<'static, Result<Event, Trouble>>>,
}

/// What comes next, and what goes on after it.
type Step<A> = Option<(Result<Event, Failure>, Option<Asking<A>>)>;

impl<A: Attempt> Asking<A> {
    async fn next(mut self) -> Step<A> {
        if let Some(wait) = self.wait.take() {
            tokio::time::sleep(wait).await;
        }
        let answer = match &mut self.answer {
            Some(answer) => answer,
            none => none.insert(self.asks.attempt(&self.request)),
        };
        match answer.next().await? {
            Ok(event @ Event::End { .. }) => Some((Ok(event), None)),
            Ok(event) => {
                self.has_spoken = true;
                Some((Ok(event), Some(self)))
            }
            Err(trouble) => Some(self.after(trouble)),
        }
    }

    /// Says that it waits, or fails.
    fn after(mut self, trouble: Trouble) -> (Result<Event, Failure>, Option<Self>) {
        // Closes the connection.
        self.answer = None;
        let Trouble { failure, again } = trouble;
        let wait = match self.has_spoken || self.failed >= self.retries {
            true => None,
            false => wait(again, self.failed),
        };
        self.failed += 1;
        let Some(wait) = wait else {
            return (Err(told(failure, again, self.failed)), None);
        };
        let note = format!("{}: trying again in {} s", short(&failure), whole(wait));
        self.wait = Some(wait);
        (Ok(Event::Note(note)), Some(self))
    }
}

/// Before the first other attempt; doubled before each that follows.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// A provider that wants more time is not waited for: the person is waiting too.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long to wait, a little at random, so that those who failed together do not come back
/// together.
fn wait(again: Again, failed: u32) -> Option<Duration> {
    match again {
        Again::Never => None,
        Again::After(time) if time > LONGEST_WAIT => None,
        Again::After(time) => Some(time + FIRST_WAIT.mul_f64(chance())),
        Again::Soon => {
            let full = FIRST_WAIT
                .saturating_mul(1 << failed.min(5))
                .min(LONGEST_WAIT);
            Some(full.mul_f64(0.5 + chance() / 2.0))
        }
    }
}

/// From 0 to 1. The keys of a hasher are the only randomness of the standard library.
fn chance() -> f64 {
    f64::from(RandomState::new().hash_one(()) as u32) / f64::from(u32::MAX)
}

fn whole(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

fn short(failure: &Failure) -> &'static str {
    match failure.code {
        ErrorCode::ModelRateLimited => "the model is busy",
        _ => "the model is not available",
    }
}

/// The failure, with what was tried.
fn told(failure: Failure, again: Again, attempts: u32) -> Failure {
    let tried = match (again, attempts) {
        (Again::After(time), _) if time > LONGEST_WAIT => {
            format!(" (it asks to wait for {} s)", whole(time))
        }
        (_, 1) => return failure,
        (_, attempts) => format!(" (asked {attempts} times)"),
    };
    let message = format!("{}{tried}", failure.message);
    Failure { message, ..failure }
}

#[cfg(test)]
mod tests;
