//! Which requests are open in either direction, and how they end. No I/O, no clock.
//!
//! A client's request *waits* until a bridge is there, is then *sent*, and leaves by exactly one
//! of `answered`, `cancelled`, `bridge_lost` and `no_bridge`. A `subscriptions/listen` outlives
//! the bridge: when the bridge is lost it waits for the next one under the same id.

use std::collections::HashSet;

use indexmap::IndexMap;
use rmcp::model::{ClientRequest, RequestId};

/// A request that left the table without an answer of the bridge: the caller answers it.
pub(crate) type Unanswered = (RequestId, ClientRequest);

/// The table of open requests.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    requests: IndexMap<RequestId, Open>,
    /// Requests of the bridge that the client has not answered.
    asked: HashSet<RequestId>,
}

#[derive(Debug)]
struct Open {
    request: ClientRequest,
    stage: Stage,
    /// Was sent before and certainly not executed. It is not repeated a second time.
    repeated: bool,
    /// The client has its acknowledgement (only for `subscriptions/listen`).
    acknowledged: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Sent,
}

impl Open {
    fn listens(&self) -> bool {
        matches!(self.request, ClientRequest::SubscriptionsListenRequest(_))
    }
}

impl InFlight {
    /// The client sent a request. It waits.
    pub(crate) fn opened(&mut self, id: RequestId, request: ClientRequest) {
        let open = Open {
            request,
            stage: Stage::Waiting,
            repeated: false,
            acknowledged: false,
        };
        self.requests.insert(id, open);
    }

    /// A bridge is there: everything that waits, in order of arrival, is to be sent now.
    pub(crate) fn bridge_found(&mut self) -> Vec<Unanswered> {
        let waiting = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.stage == Stage::Waiting);
        waiting
            .map(|(id, open)| {
                open.stage = Stage::Sent;
                (id.clone(), open.request.clone())
            })
            .collect()
    }

    /// No bridge could be found: what waited is to be answered without one. Listens go on waiting.
    pub(crate) fn no_bridge(&mut self) -> Vec<Unanswered> {
        self.take(|open| open.stage == Stage::Waiting && !open.listens())
    }

    /// The bridge is gone: what it had not answered is to be answered with an error.
    pub(crate) fn bridge_lost(&mut self) -> Vec<Unanswered> {
        let ended = self.take(|open| open.stage == Stage::Sent && !open.listens());
        for open in self.requests.values_mut() {
            open.stage = Stage::Waiting;
        }
        ended
    }

    /// A request came back that the bridge certainly did not execute. True if it now waits to be
    /// sent again; false if it is not open any more or came back for the second time.
    pub(crate) fn came_back(&mut self, id: &RequestId) -> bool {
        match self.requests.get_mut(id) {
            Some(open) if !open.repeated || open.listens() => {
                open.repeated = true;
                open.stage = Stage::Waiting;
                true
            }
            _ => false,
        }
    }

    /// The final answer has come. Gives the request unless it had ended before: then the answer
    /// is not the client's business any more.
    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<ClientRequest> {
        self.requests.shift_remove(id).map(|open| open.request)
    }

    /// The client does not want the answer any more. True if the bridge has to hear of it.
    pub(crate) fn cancelled(&mut self, id: &RequestId) -> bool {
        self.requests
            .shift_remove(id)
            .is_some_and(|open| open.stage == Stage::Sent)
    }

    /// Whether this request is an open `subscriptions/listen`.
    pub(crate) fn listens(&self, id: &RequestId) -> bool {
        self.requests.get(id).is_some_and(Open::listens)
    }

    /// A listen is acknowledged. True the first time: the client must not see a second one when
    /// its stream is opened again at another bridge.
    pub(crate) fn acknowledged(&mut self, id: &RequestId) -> bool {
        let open = self.requests.get_mut(id).filter(|open| open.listens());
        open.is_some_and(|open| !std::mem::replace(&mut open.acknowledged, true))
    }

    /// Without a bridge we acknowledge ourselves: the listens that had none yet.
    pub(crate) fn acknowledge_all(&mut self) -> Vec<Unanswered> {
        let new = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.listens() && !open.acknowledged);
        new.map(|(id, open)| {
            open.acknowledged = true;
            (id.clone(), open.request.clone())
        })
        .collect()
    }

    /// The open listens, in order of arrival.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = (&RequestId, &ClientRequest)> {
        let listens = self.requests.iter().filter(|(_, open)| open.listens());
        listens.map(|(id, open)| (id, &open.request))
    }

    /// The bridge asks the client.
    pub(crate) fn asked(&mut self, id: RequestId) {
        self.asked.insert(id);
    }

    /// The client replied, or the bridge does not want the reply any more. True if it was asked.
    pub(crate) fn replied(&mut self, id: &RequestId) -> bool {
        self.asked.remove(id)
    }

    /// Nobody wants the replies any more: the ids of all that was asked.
    pub(crate) fn forget_asked(&mut self) -> Vec<RequestId> {
        self.asked.drain().collect()
    }

    /// The client is gone: the ids of what the bridge is still working on.
    pub(crate) fn end_of_input(&mut self) -> Vec<RequestId> {
        let sent = self.take(|open| open.stage == Stage::Sent);
        sent.into_iter().map(|(id, _)| id).collect()
    }

    fn take(&mut self, leaves: impl Fn(&Open) -> bool) -> Vec<Unanswered> {
        let left = self.requests.extract_if(.., |_, open| leaves(open));
        left.map(|(id, open)| (id, open.request)).collect()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        CallToolRequest, CallToolRequestParams, SubscriptionFilter, SubscriptionsListenRequest,
        SubscriptionsListenRequestParams,
    };

    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    fn call() -> ClientRequest {
        CallToolRequest::new(CallToolRequestParams::new("move_card")).into()
    }

    fn listen() -> ClientRequest {
        let params = SubscriptionsListenRequestParams::new(SubscriptionFilter::new());
        SubscriptionsListenRequest::new(params).into()
    }

    fn ids(unanswered: &[Unanswered]) -> Vec<i64> {
        let number = |id: &RequestId| match id {
            RequestId::Number(number) => *number,
            RequestId::String(_) => unreachable!("the tests use numbers"),
        };
        unanswered.iter().map(|(id, _)| number(id)).collect()
    }

    #[test]
    fn what_waits_is_sent_in_order_and_once() {
        let mut table = InFlight::default();
        for number in [3, 1, 2] {
            table.opened(id(number), call());
        }
        assert_eq!(ids(&table.bridge_found()), [3, 1, 2]);
        assert!(table.bridge_found().is_empty());
        assert!(table.answered(&id(1)).is_some());
        assert!(table.answered(&id(1)).is_none(), "a request ends once");
    }

    #[test]
    fn a_lost_bridge_ends_calls_and_keeps_listens() {
        let mut table = InFlight::default();
        table.opened(id(1), call());
        table.opened(id(2), listen());
        table.bridge_found();
        table.opened(id(3), call());
        assert_eq!(ids(&table.bridge_lost()), [1]);
        assert!(table.answered(&id(1)).is_none(), "a late answer is dropped");
        assert_eq!(ids(&table.no_bridge()), [3]);
        assert_eq!(ids(&table.bridge_found()), [2]);
    }

    #[test]
    fn a_request_comes_back_once_a_listen_as_often_as_needed() {
        let mut table = InFlight::default();
        table.opened(id(1), call());
        table.opened(id(2), listen());
        for expected in [true, false] {
            table.bridge_found();
            assert_eq!(table.came_back(&id(1)), expected);
            assert!(table.came_back(&id(2)));
        }
    }

    #[test]
    fn only_what_was_sent_has_to_be_cancelled_at_the_bridge() {
        let mut table = InFlight::default();
        table.opened(id(1), call());
        assert!(!table.cancelled(&id(1)));
        table.opened(id(1), call());
        table.opened(id(2), call());
        table.bridge_found();
        assert!(table.cancelled(&id(1)));
        assert!(!table.cancelled(&id(1)), "unknown by now");
        table.opened(id(3), call());
        assert_eq!(table.end_of_input(), [id(2)]);
    }

    #[test]
    fn a_listen_is_acknowledged_once() {
        let mut table = InFlight::default();
        table.opened(id(1), listen());
        table.opened(id(2), call());
        assert!(table.acknowledged(&id(1)));
        assert!(!table.acknowledged(&id(1)));
        assert!(!table.acknowledged(&id(2)), "not a listen");
        assert!(table.listens(&id(1)) && !table.listens(&id(2)));
        table.opened(id(3), listen());
        assert_eq!(ids(&table.acknowledge_all()), [3]);
        assert!(!table.acknowledged(&id(3)));
        assert_eq!(table.subscriptions().count(), 2);
    }

    #[test]
    fn only_what_was_asked_can_be_replied() {
        let mut table = InFlight::default();
        table.asked(id(0));
        assert!(table.replied(&id(0)));
        assert!(!table.replied(&id(0)));
        table.asked(id(1));
        assert_eq!(table.forget_asked(), [id(1)]);
        assert!(!table.replied(&id(1)));
    }
}
