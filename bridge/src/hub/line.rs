//! What a caller hears of its call: one line with one waker, in which nothing is made that nobody
//! says. Most calls say nothing but their ending.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::realm::{CallEvent, Ending, Failure};

/// Progress and log messages that wait for a caller. More are dropped: a client that does not read
/// must not hold up the page, and the newest news of a call comes with its result.
const WAITING_EVENTS: usize = 64;

/// The caller's end of a call.
#[derive(Debug)]
pub(crate) struct CallLine(Arc<Mutex<State>>);

/// The hub's end.
#[derive(Debug)]
pub(super) struct Caller(Arc<Mutex<State>>);

/// What a caller hears.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The call is over. Nothing more will be heard, but what was told before.
    Ended(Ending),
    /// The page asks the client something: [`Hub::take_client_requests`](super::Hub), or
    /// [`Hub::park_call`](super::Hub).
    Asks,
    Told(CallEvent),
}

#[derive(Debug, Default)]
struct State {
    ending: Option<Ending>,
    /// The hub has let go of the call.
    let_go: bool,
    asks: bool,
    told: VecDeque<CallEvent>,
    caller: Option<Waker>,
}

pub(super) fn line() -> (Caller, CallLine) {
    let state = Arc::new(Mutex::new(State::default()));
    (Caller(Arc::clone(&state)), CallLine(state))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Caller {
    pub(super) fn tell(&self, event: CallEvent) {
        self.say(|state| {
            if state.told.len() < WAITING_EVENTS {
                state.told.push_back(event);
            }
        });
    }

    pub(super) fn ask(&self) {
        self.say(|state| state.asks = true);
    }

    pub(super) fn end(self, ending: Ending) {
        // A caller that is gone has cancelled already.
        lock(&self.0).ending = Some(ending);
    }

    fn say(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.0);
        change(&mut state);
        let caller = state.caller.take();
        drop(state);
        if let Some(caller) = caller {
            caller.wake();
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.say(|state| state.let_go = true);
    }
}

impl CallLine {
    /// The next, the ending before anything else. `events`: what is told, too. Nothing is lost when
    /// the future is dropped.
    pub(crate) async fn heard(&mut self, events: bool) -> Heard {
        poll_fn(|context| self.poll_heard(context, events)).await
    }

    fn poll_heard(&mut self, context: &mut Context<'_>, events: bool) -> Poll<Heard> {
        let mut state = lock(&self.0);
        if let Some(ending) = state.ending.take() {
            return Poll::Ready(Heard::Ended(ending));
        }
        if state.let_go {
            return Poll::Ready(Heard::Ended(Ending::Failed(Failure::page_gone())));
        }
        if std::mem::take(&mut state.asks) {
            return Poll::Ready(Heard::Asks);
        }
        if events && let Some(event) = state.told.pop_front() {
            return Poll::Ready(Heard::Told(event));
        }
        match &mut state.caller {
            Some(caller) => caller.clone_from(context.waker()),
            None => state.caller = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// What was told and not heard.
    pub(crate) fn untold(&mut self) -> Option<CallEvent> {
        lock(&self.0).told.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{CallProgress, ErrorCode};
    use futures_util::FutureExt;

    use super::*;

    fn progress(n: usize) -> CallEvent {
        CallEvent::Progress(CallProgress {
            request_id: "c".into(),
            progress: n.into(),
            total: None,
            message: None,
        })
    }

    #[tokio::test]
    async fn what_waits_for_a_caller_is_bounded_and_the_result_comes() {
        let (caller, mut line) = line();
        for n in 0..2 * WAITING_EVENTS {
            caller.tell(progress(n));
        }
        let late = Failure::new(ErrorCode::CallTimeout, "late".to_owned());
        caller.end(Ending::Failed(late));
        let Heard::Ended(Ending::Failed(failure)) = line.heard(true).await else {
            panic!("no end")
        };
        assert_eq!(failure.code, ErrorCode::CallTimeout);
        let untold = std::iter::from_fn(|| line.untold());
        assert_eq!(untold.count(), WAITING_EVENTS);
    }

    #[tokio::test]
    async fn a_caller_that_waits_hears_each_thing_once_and_of_a_hub_that_let_go() {
        let (caller, mut line) = line();
        caller.ask();
        assert!(matches!(line.heard(true).await, Heard::Asks));
        caller.tell(progress(1));
        assert!(line.heard(false).now_or_never().is_none());
        caller.ask();
        assert!(matches!(line.heard(true).await, Heard::Asks));
        assert!(matches!(line.heard(true).await, Heard::Told(_)));
        let waits = async {
            let Heard::Ended(Ending::Failed(failure)) = line.heard(true).await else {
                panic!("no end")
            };
            assert_eq!(failure.code, ErrorCode::PageGone);
        };
        let lets_go = async move { drop(caller) };
        tokio::join!(waits, lets_go);
    }
}
