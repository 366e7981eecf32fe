//! Which requests are open in either direction, and how they end. No I/O, no clock.
//!
//! A client's request *waits* until a bridge is there, is then *sent*, and leaves by exactly one
//! of `answered`, `cancelled`, `bridge_lost` and `no_bridge`. A `subscriptions/listen` outlives
//! the bridge: when the bridge is lost it waits for the next one under the same id.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::message::{Request, RequestId};

/// The table of open requests.
#[derive(Debug, Default)]
pub(crate) struct InFlightRequests {
    requests: IndexMap<RequestId, PendingRequest>,
    /// Requests of the bridge that the client has not answered.
    from_bridge: HashSet<RequestId>,
}

#[derive(Debug)]
struct PendingRequest {
    request: Request,
    stage: RequestStage,
    /// Was sent before and certainly not executed. It is not repeated a second time.
    was_requeued: bool,
    /// The client has its acknowledgement (only for `subscriptions/listen`).
    acknowledged: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum RequestStage {
    Queued,
    Sent,
}

impl PendingRequest {
    fn is_listen(&self) -> bool {
        self.request.is_listen()
    }
}

impl InFlightRequests {
    /// The client sent a request. It waits. False, and nothing happens, if its id is in use.
    pub(crate) fn insert(&mut self, request: Request) -> bool {
        let Entry::Vacant(place) = self.requests.entry(request.id.clone()) else {
            return false;
        };
        place.insert(PendingRequest {
            request,
            stage: RequestStage::Queued,
            was_requeued: false,
            acknowledged: false,
        });
        true
    }

    /// A bridge is there: everything that waits, in order of arrival, is to be sent now.
    pub(crate) fn on_connected(&mut self) -> Vec<Request> {
        let waiting = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.stage == RequestStage::Queued);
        waiting
            .map(|(_, open)| {
                open.stage = RequestStage::Sent;
                open.request.clone()
            })
            .collect()
    }

    /// No bridge could be found: what waited is to be answered without one. Listens go on waiting.
    pub(crate) fn on_connect_failed(&mut self) -> Vec<Request> {
        self.remove_where(|open| open.stage == RequestStage::Queued && !open.is_listen())
    }

    /// The bridge is gone: what it had not answered is to be answered with an error.
    pub(crate) fn on_bridge_lost(&mut self) -> Vec<Request> {
        let ended = self.remove_where(|open| open.stage == RequestStage::Sent && !open.is_listen());
        for open in self.requests.values_mut() {
            open.stage = RequestStage::Queued;
        }
        ended
    }

    /// A request came back that the bridge certainly did not execute. True if it now waits to be
    /// sent again; false if it is not open any more or came back for the second time.
    pub(crate) fn requeue(&mut self, id: &RequestId) -> bool {
        match self.requests.get_mut(id) {
            Some(open) if !open.was_requeued || open.is_listen() => {
                open.was_requeued = true;
                open.stage = RequestStage::Queued;
                true
            }
            _ => false,
        }
    }

    /// The final answer has come. Gives the request unless it had ended before: then the answer
    /// is not the client's business any more.
    pub(crate) fn complete(&mut self, id: &RequestId) -> Option<Request> {
        self.requests.shift_remove(id).map(|open| open.request)
    }

    /// The client does not want the answer any more. True if the bridge has to hear of it.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        self.requests
            .shift_remove(id)
            .is_some_and(|open| open.stage == RequestStage::Sent)
    }

    /// Whether others than this one are with the bridge and will have an answer.
    pub(crate) fn has_others_sent(&self, id: &RequestId) -> bool {
        let mut open = self.requests.iter();
        open.any(|(other, open)| {
            other != id && open.stage == RequestStage::Sent && !open.is_listen()
        })
    }

    /// Whether something waits to be sent, and nothing is with the bridge that will have an answer.
    pub(crate) fn has_only_queued(&self) -> bool {
        let open = || self.requests.values();
        open().any(|open| open.stage == RequestStage::Queued)
            && !open().any(|open| open.stage == RequestStage::Sent && !open.is_listen())
    }

    /// Whether this request is an open `subscriptions/listen`.
    pub(crate) fn is_listen(&self, id: &RequestId) -> bool {
        self.requests.get(id).is_some_and(PendingRequest::is_listen)
    }

    /// A listen is acknowledged. True the first time: the client must not see a second one when
    /// its stream is opened again at another bridge.
    pub(crate) fn acknowledge(&mut self, id: &RequestId) -> bool {
        let open = self.requests.get_mut(id).filter(|open| open.is_listen());
        open.is_some_and(|open| !std::mem::replace(&mut open.acknowledged, true))
    }

    /// Without a bridge we acknowledge ourselves: the listens that had none yet.
    pub(crate) fn acknowledge_all(&mut self) -> Vec<Request> {
        let new = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.is_listen() && !open.acknowledged);
        new.map(|(_, open)| {
            open.acknowledged = true;
            open.request.clone()
        })
        .collect()
    }

    /// The open listens, in order of arrival.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = &Request> {
        let listens = self.requests.values().filter(|open| open.is_listen());
        listens.map(|open| &open.request)
    }

    /// The bridge asks the client.
    pub(crate) fn insert_from_bridge(&mut self, id: RequestId) {
        self.from_bridge.insert(id);
    }

    /// The client replied, or the bridge does not want the reply any more. True if it was asked.
    pub(crate) fn remove_from_bridge(&mut self, id: &RequestId) -> bool {
        self.from_bridge.remove(id)
    }

    /// Nobody wants the replies any more: the ids of all that was asked.
    pub(crate) fn drain_from_bridge(&mut self) -> Vec<RequestId> {
        self.from_bridge.drain().collect()
    }

    /// The client is gone: the ids of what the bridge is still working on.
    pub(crate) fn drain_sent(&mut self) -> Vec<RequestId> {
        let sent = self.remove_where(|open| open.stage == RequestStage::Sent);
        sent.into_iter().map(|request| request.id).collect()
    }

    fn remove_where(&mut self, leaves: impl Fn(&PendingRequest) -> bool) -> Vec<Request> {
        let left = self.requests.extract_if(.., |_, open| leaves(open));
        left.map(|(_, open)| open.request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::from_json(&number.into())
    }

    fn request(number: i64, method: &str) -> Request {
        Request {
            id: id(number),
            ..Request::new("", method, "{}")
        }
    }

    fn call(number: i64) -> Request {
        request(number, "tools/call")
    }

    fn listen(number: i64) -> Request {
        request(number, "subscriptions/listen")
    }

    fn ids(unanswered: &[Request]) -> Vec<i64> {
        let numbers = unanswered.iter().map(|request| request.id.to_string());
        numbers.map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn queued_requests_are_sent_once_in_order() {
        let mut table = InFlightRequests::default();
        for number in [3, 1, 2] {
            assert!(table.insert(call(number)));
        }
        assert_eq!(ids(&table.on_connected()), [3, 1, 2]);
        assert!(table.on_connected().is_empty());
        assert!(table.complete(&id(1)).is_some());
        assert!(table.complete(&id(1)).is_none(), "a request ends once");
        assert!(!table.insert(call(2)), "its id is in use");
    }

    #[test]
    fn a_lost_bridge_ends_calls_and_keeps_listens() {
        let mut table = InFlightRequests::default();
        assert!(table.insert(call(1)));
        assert!(table.insert(listen(2)));
        table.on_connected();
        assert!(table.insert(call(3)));
        assert_eq!(ids(&table.on_bridge_lost()), [1]);
        assert!(table.complete(&id(1)).is_none(), "a late answer is dropped");
        assert_eq!(ids(&table.on_connect_failed()), [3]);
        assert_eq!(ids(&table.on_connected()), [2]);
    }

    #[test]
    fn a_request_is_requeued_once_and_a_listen_always() {
        let mut table = InFlightRequests::default();
        assert!(table.insert(call(1)));
        assert!(table.insert(listen(2)));
        for expected in [true, false] {
            table.on_connected();
            assert_eq!(table.requeue(&id(1)), expected);
            assert!(table.requeue(&id(2)));
        }
    }

    #[test]
    fn other_requests_count_until_they_are_answered() {
        let mut table = InFlightRequests::default();
        assert!(table.insert(call(1)));
        assert!(table.insert(listen(2)));
        table.on_connected();
        assert!(table.insert(call(3)), "it waits");
        assert!(!table.has_others_sent(&id(1)));
        assert!(table.has_others_sent(&id(3)));
        assert!(!table.has_only_queued(), "the first is sent");
        assert!(table.complete(&id(1)).is_some());
        assert!(table.has_only_queued());
        table.on_connected();
        assert!(!table.has_only_queued());
    }

    #[test]
    fn only_sent_requests_are_cancelled_at_the_bridge() {
        let mut table = InFlightRequests::default();
        assert!(table.insert(call(1)));
        assert!(!table.cancel(&id(1)));
        assert!(table.insert(call(1)));
        assert!(table.insert(call(2)));
        table.on_connected();
        assert!(table.cancel(&id(1)));
        assert!(!table.cancel(&id(1)), "unknown by now");
        assert!(table.insert(call(3)));
        assert_eq!(table.drain_sent(), [id(2)]);
    }

    #[test]
    fn a_listen_is_acknowledged_once() {
        let mut table = InFlightRequests::default();
        assert!(table.insert(listen(1)));
        assert!(table.insert(call(2)));
        assert!(table.acknowledge(&id(1)));
        assert!(!table.acknowledge(&id(1)));
        assert!(!table.acknowledge(&id(2)), "not a listen");
        assert!(table.is_listen(&id(1)) && !table.is_listen(&id(2)));
        assert!(table.insert(listen(3)));
        assert_eq!(ids(&table.acknowledge_all()), [3]);
        assert!(!table.acknowledge(&id(3)));
        assert_eq!(table.subscriptions().count(), 2);
    }

    #[test]
    fn only_open_bridge_requests_can_be_answered() {
        let mut table = InFlightRequests::default();
        table.insert_from_bridge(id(0));
        assert!(table.remove_from_bridge(&id(0)));
        assert!(!table.remove_from_bridge(&id(0)));
        table.insert_from_bridge(id(1));
        assert_eq!(table.drain_from_bridge(), [id(1)]);
        assert!(!table.remove_from_bridge(&id(1)));
    }
}
