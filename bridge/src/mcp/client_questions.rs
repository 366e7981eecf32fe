//! The requests of pages to the client of one MCP session, which answers each with a separate
//! message.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

/// The prefix of the ids of these requests. Clients send the ids back unchanged.
const ID_PREFIX: &str = "mcp-web/";

/// The maximum number of withdrawn requests that wait until the client opens a stream. Beyond it,
/// the client is notified about the newest.
const MAX_WITHDRAWN: usize = 64;

/// The requests that the client of a session has not answered.
#[derive(Debug)]
pub(super) struct ClientQuestions {
    /// A random part of the ids, so that the answer to a question of a former session fits none.
    nonce: u32,
    state: Mutex<State>,
    withdrawn: Notify,
}

#[derive(Debug, Default)]
struct State {
    last_number: u64,
    open: HashMap<u64, oneshot::Sender<Answer>>,
    /// The numbers of requests that need no answer any more, until the client is notified.
    withdrawn: VecDeque<u64>,
}

/// The client's answer to a request.
#[derive(Debug)]
pub(super) enum Answer {
    Result(Box<RawValue>),
    Error(Box<RawValue>),
}

impl ClientQuestions {
    pub(super) fn new() -> Self {
        Self {
            nonce: uuid::Uuid::new_v4().as_fields().0,
            state: Mutex::default(),
            withdrawn: Notify::new(),
        }
    }

    /// Passes on the answer to the request with this id. An id without a request is ignored: the
    /// request was answered or has been withdrawn.
    pub(super) fn answer(&self, id: &str, answer: Answer) {
        let number = || {
            let (nonce, number) = id.strip_prefix(ID_PREFIX)?.split_once('/')?;
            (nonce == self.nonce_text()).then_some(number)?.parse().ok()
        };
        let asked = number().and_then(|number: u64| self.state().open.remove(&number));
        if let Some(asked) = asked {
            // The call may have ended meanwhile.
            let _ = asked.send(answer);
        }
    }

    /// Waits for a request that needs no answer any more, and returns its id.
    pub(super) async fn next_withdrawn(&self) -> String {
        loop {
            let withdrawn = self.withdrawn.notified();
            let number = self.state().withdrawn.pop_front();
            if let Some(number) = number {
                return self.id(number);
            }
            withdrawn.await;
        }
    }

    /// Withdraws a request that is not answered.
    fn withdraw(&self, number: u64) {
        let mut state = self.state();
        if state.open.remove(&number).is_none() {
            return;
        }
        if state.withdrawn.len() == MAX_WITHDRAWN {
            state.withdrawn.pop_front();
        }
        state.withdrawn.push_back(number);
        drop(state);
        self.withdrawn.notify_one();
    }

    fn id(&self, number: u64) -> String {
        format!("{ID_PREFIX}{}/{number}", self.nonce_text())
    }

    fn nonce_text(&self) -> String {
        format!("{:08x}", self.nonce)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request to the client of a session. Dropping it before the answer withdraws it: a person must
/// not be asked about a call that has ended.
pub(super) struct Question {
    questions: Arc<ClientQuestions>,
    number: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Question {
    pub(super) fn open(questions: &Arc<ClientQuestions>) -> Self {
        let (sender, answer) = oneshot::channel();
        let mut state = questions.state();
        state.last_number += 1;
        let number = state.last_number;
        state.open.insert(number, sender);
        Self {
            questions: Arc::clone(questions),
            number,
            answer,
        }
    }

    /// The id of the request for the client.
    pub(super) fn id(&self) -> String {
        self.questions.id(self.number)
    }

    /// Waits for the answer.
    pub(super) async fn answer(mut self) -> Answer {
        match (&mut self.answer).await {
            Ok(answer) => answer,
            // The sender is dropped only when this is.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.questions.withdraw(self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn result() -> Answer {
        Answer::Result(RawValue::from_string("1".to_owned()).unwrap())
    }

    #[test]
    fn only_the_answer_to_an_open_question_of_the_session_is_taken() {
        let [session, other] = [(); 2].map(|()| Arc::new(ClientQuestions::new()));
        let [first, second] = [(); 2].map(|()| Question::open(&session));
        let (first_id, second_id) = (first.id(), second.id());
        assert_ne!(first_id, second_id);
        other.answer(&first_id, result());
        for unknown in ["mcp-web/1", "mcp-web/", "1", &format!("{first_id}1")] {
            session.answer(unknown, result());
        }
        assert_eq!(session.state().open.len(), 2);
        session.answer(&first_id, result());
        session.answer(&first_id, result());
        let answer = first.answer().now_or_never().unwrap();
        assert!(matches!(answer, Answer::Result(_)), "{answer:?}");
        drop(second);
        assert!(session.state().open.is_empty());
        session.answer(&second_id, result());
        let withdrawn = session.next_withdrawn().now_or_never();
        assert_eq!(withdrawn, Some(second_id));
        assert_eq!(session.next_withdrawn().now_or_never(), None);
    }

    #[test]
    fn a_client_without_a_stream_is_notified_of_the_newest_withdrawn_questions() {
        let questions = Arc::new(ClientQuestions::new());
        let asked = || Question::open(&questions);
        let first = asked().id();
        let rest: Vec<_> = (0..MAX_WITHDRAWN).map(|_| asked().id()).collect();
        let withdrawn = rest
            .iter()
            .map(|_| questions.next_withdrawn().now_or_never());
        let withdrawn: Option<Vec<_>> = withdrawn.collect();
        assert_eq!(withdrawn.as_ref(), Some(&rest));
        assert!(!rest.contains(&first));
    }
}
