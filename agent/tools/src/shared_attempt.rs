//! An attempt that is shared by all callers that need its result: to start a source, to connect to
//! a server.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, ready};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::AgentFailure;

/// The time until the next attempt after the first failure. It doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The number of failures in succession after which the next attempt is made after [`MAX_RETRY`] only.
const CIRCUIT_FAILURES: u32 = 5;

/// The longest time until the next attempt.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// An attempt that is shared by all callers that need its result. A failed one is repeated later.
#[derive(Debug)]
pub(crate) struct SharedAttempt<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    /// The last attempt.
    attempt: Option<Attempt<T>>,
    /// The failures in succession.
    failures: u32,
}

type Attempt<T> = Shared<BoxFuture<'static, Result<T, FailedAttempt>>>;

#[derive(Clone, Debug)]
struct FailedAttempt {
    failure: AgentFailure,
    at: Instant,
}

impl<T> Default for SharedAttempt<T> {
    fn default() -> Self {
        Self(Mutex::new(State {
            attempt: None,
            failures: 0,
        }))
    }
}

impl<T: Clone + Send + Sync + 'static> SharedAttempt<T> {
    /// Returns the result of the last attempt. Begins one if there was none, or if the last failure
    /// is long enough ago. The attempt is a task that continues when no caller waits for it any
    /// more.
    pub(crate) async fn get(
        &self,
        begin: impl FnOnce() -> BoxFuture<'static, Result<T, AgentFailure>>,
    ) -> Result<T, AgentFailure> {
        let attempt = self.current_attempt(begin);
        attempt.await.map_err(|failed| failed.failure)
    }

    /// Returns the value, if there is one.
    pub(crate) fn value(&self) -> Option<T> {
        let state = self.state();
        let result = state.attempt.as_ref().and_then(Shared::peek);
        result.and_then(|result| result.as_ref().ok()).cloned()
    }

    /// Returns whether the last attempt has failed.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.state();
        let result = state.attempt.as_ref().and_then(Shared::peek);
        result.is_some_and(|result| result.is_err())
    }

    /// Returns whether there is neither a value nor an attempt, nor a failure to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        match state.attempt.as_ref().map(|attempt| attempt.peek()) {
            None => true,
            Some(None | Some(Ok(_))) => false,
            Some(Some(Err(failed))) => failed.at.elapsed() >= MAX_RETRY,
        }
    }

    /// Forgets a value that is no longer useful, unless there is another one: the next use begins
    /// an attempt. After a failure, that attempt waits; otherwise earlier failures are forgotten.
    pub(crate) fn replace_if(
        &self,
        is_current: impl Fn(&T) -> bool,
        failure: Option<AgentFailure>,
    ) {
        let mut state = self.state();
        let value = state.attempt.as_ref().and_then(Shared::peek);
        if !value.is_some_and(|value| value.as_ref().is_ok_and(is_current)) {
            return;
        }
        let Some(failure) = failure else {
            (state.attempt, state.failures) = (None, 0);
            return;
        };
        let at = Instant::now();
        let failed = ready(Err(FailedAttempt { failure, at })).boxed().shared();
        // A future that is ready can be seen only after it was polled.
        let _ = failed.clone().now_or_never();
        state.attempt = Some(failed);
    }

    /// Forgets a failure with this code: the next use begins an attempt at once.
    pub(crate) fn forget_failure(&self, code: ErrorCode) {
        let mut state = self.state();
        let value = state.attempt.as_ref().and_then(Shared::peek);
        if value.is_some_and(|it| it.as_ref().is_err_and(|it| it.failure.code == code)) {
            state.attempt = None;
        }
    }

    fn current_attempt(
        &self,
        begin: impl FnOnce() -> BoxFuture<'static, Result<T, AgentFailure>>,
    ) -> Attempt<T> {
        let mut state = self.state();
        match state
            .attempt
            .as_ref()
            .map(|attempt| (attempt, attempt.peek()))
        {
            Some((attempt, None | Some(Ok(_)))) => return attempt.clone(),
            Some((attempt, Some(Err(failed)))) => {
                if failed.at.elapsed() < retry_delay(state.failures) {
                    return attempt.clone();
                }
                state.failures = state.failures.saturating_add(1);
            }
            None => {}
        }
        let attempt = spawn_attempt(begin());
        state.attempt = Some(attempt.clone());
        attempt
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time from a failure to the next attempt. `before` is the number of failures before it.
fn retry_delay(before: u32) -> Duration {
    if before + 1 >= CIRCUIT_FAILURES {
        return MAX_RETRY;
    }
    FIRST_RETRY * 2_u32.pow(before)
}

fn spawn_attempt<T: Clone + Send + Sync + 'static>(
    attempt: BoxFuture<'static, Result<T, AgentFailure>>,
) -> Attempt<T> {
    let attempt = AbortOnDropHandle::new(tokio::spawn(attempt));
    let attempt = async move {
        let result = attempt.await.unwrap_or_else(|_| Err(AgentFailure::fault()));
        let at = Instant::now();
        result.map_err(|failure| FailedAttempt { failure, at })
    };
    attempt.boxed().shared()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::advance;

    use super::*;

    fn failure() -> AgentFailure {
        AgentFailure::new(ErrorCode::AgentUnavailable, "it is broken")
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_repeated_later_and_later_and_then_once_a_minute() {
        let (attempt, count) = (SharedAttempt::<()>::default(), Arc::new(AtomicU32::new(0)));
        let try_it = async || {
            let count = Arc::clone(&count);
            let begin = move || {
                count.fetch_add(1, Ordering::SeqCst);
                async { Err(failure()) }.boxed()
            };
            assert!(attempt.get(begin).await.is_err());
        };
        for (attempts, pause) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 60), (6, 60)] {
            try_it().await;
            advance(Duration::from_millis(pause * 1000 - 1)).await;
            try_it().await;
            assert_eq!(count.load(Ordering::SeqCst), attempts);
            advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_shared_until_it_is_forgotten_or_fails() {
        let attempt = SharedAttempt::<u32>::default();
        let get = async |value: u32| attempt.get(move || async move { Ok(value) }.boxed()).await;
        assert_eq!(attempt.value(), None);
        assert_eq!(get(1).await, Ok(1));
        assert_eq!((get(2).await, attempt.value()), (Ok(1), Some(1)));
        attempt.replace_if(|value| *value == 9, None);
        assert_eq!(attempt.value(), Some(1), "it is another value");
        attempt.replace_if(|value| *value == 1, None);
        assert_eq!(get(3).await, Ok(3));
        attempt.replace_if(|value| *value == 3, Some(failure()));
        assert_eq!((get(4).await, attempt.value()), (Err(failure()), None));
        assert!(!attempt.is_idle());
        advance(Duration::from_secs(60)).await;
        assert!(attempt.is_idle());
        assert_eq!(get(5).await, Ok(5));
        attempt.replace_if(|_| true, Some(failure()));
        attempt.forget_failure(ErrorCode::QueryLimitExceeded);
        assert!(get(6).await.is_err(), "it has another code");
        attempt.forget_failure(failure().code);
        assert_eq!(get(6).await, Ok(6));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_continues_without_a_waiting_caller() {
        let attempt = SharedAttempt::<u32>::default();
        let slow = || {
            let delay = tokio::time::sleep(Duration::from_secs(5));
            async move {
                delay.await;
                Ok(1)
            }
            .boxed()
        };
        let waiting = tokio::time::timeout(Duration::from_secs(1), attempt.get(slow));
        assert!(waiting.await.is_err());
        let other = attempt.get(|| panic!("it has begun"));
        assert_eq!(other.await, Ok(1));
    }
}
