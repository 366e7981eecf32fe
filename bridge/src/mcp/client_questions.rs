//! The requests of pages to the client of one MCP session, which answers each with a message of its
//! own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use rmcp::RoleServer;
use rmcp::model::{CancelledNotificationParam, RequestId};
use rmcp::service::Peer;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

/// What the ids of these requests begin with. Clients send them back as they are.
const ID_PREFIX: &str = "mcp-web/";

/// The requests that the client of a session has not answered.
#[derive(Debug)]
pub(super) struct ClientQuestions {
    /// A random part of the ids, so that the answer to a question of a former session fits none.
    nonce: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What tells the client that a request needs no answer any more.
    peer: Option<Peer<RoleServer>>,
    last_number: u64,
    open: HashMap<u64, oneshot::Sender<Answer>>,
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

    /// Sets what tells the client that a request needs no answer any more.
    pub(super) fn set_peer(&self, peer: Option<Peer<RoleServer>>) {
        let former = std::mem::replace(&mut self.state().peer, peer);
        drop(former);
    }

    /// Tells the client that the request with this id needs no answer any more.
    fn withdraw(&self, id: String) {
        let Some(peer) = self.state().peer.clone() else {
            return;
        };
        let cancelled = CancelledNotificationParam::new(
            Some(RequestId::String(id.into())),
            Some("the call that asked is over, or waits no longer".to_owned()),
        );
        // Polling once puts the cancellation into the client's queue. If the queue is full, the
        // client does not read anyway.
        let cancel = tokio::task::unconstrained(peer.notify_cancelled(cancelled));
        let _ = cancel.now_or_never();
    }

    fn nonce_text(&self) -> String {
        format!("{:08x}", self.nonce)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an id is one of a request to a client.
pub(super) fn is_question_id(id: &str) -> bool {
    id.starts_with(ID_PREFIX)
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
        let nonce = self.questions.nonce_text();
        format!("{ID_PREFIX}{nonce}/{}", self.number)
    }

    /// Waits for the answer, or returns `None` if there will be none.
    pub(super) async fn answer(mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let open = self.questions.state().open.remove(&self.number);
        if open.is_some() {
            self.questions.withdraw(self.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> Answer {
        Answer::Result(RawValue::from_string("1".to_owned()).unwrap())
    }

    #[test]
    fn only_the_answer_to_an_open_question_of_the_session_is_taken() {
        let [session, other] = [(); 2].map(|()| Arc::new(ClientQuestions::new()));
        let [first, second] = [(); 2].map(|()| Question::open(&session));
        let (first_id, second_id) = (first.id(), second.id());
        assert!(is_question_id(&first_id) && first_id != second_id);
        other.answer(&first_id, result());
        for unknown in ["mcp-web/1", "mcp-web/", "1", &format!("{first_id}1")] {
            session.answer(unknown, result());
        }
        assert_eq!(session.state().open.len(), 2);
        session.answer(&first_id, result());
        session.answer(&first_id, result());
        let answer = first.answer().now_or_never().unwrap();
        assert!(matches!(answer, Some(Answer::Result(_))), "{answer:?}");
        drop(second);
        assert!(session.state().open.is_empty());
        session.answer(&second_id, result());
    }
}
