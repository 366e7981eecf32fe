//! The requests that are in flight in either direction. No I/O and no clock.
//!
//! A request of the client is *queued* until a bridge is online and is then *sent*. It leaves the
//! table by exactly one of [`complete`](InFlightRequests::complete),
//! [`cancel`](InFlightRequests::cancel), [`on_bridge_lost`](InFlightRequests::on_bridge_lost) and
//! [`on_connect_failed`](InFlightRequests::on_connect_failed). A `subscriptions/listen` outlives
//! the bridge: when the bridge is lost, it is queued for the next one with the same id.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::message::JsonRpcRequest;
use crate::request_id::RequestId;

/// The table of all requests that are in flight, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct InFlightRequests {
    requests: IndexMap<RequestId, PendingRequest>,
    /// Requests of the bridge that the client has not answered.
    from_bridge: HashSet<RequestId>,
}

/// A request of the client that has not been answered.
#[derive(Debug)]
struct PendingRequest {
    request: JsonRpcRequest,
    stage: RequestStage,
    /// Whether the request was sent before and certainly not executed. It is requeued only once.
    was_requeued: bool,
    /// Whether the client has the acknowledgement of a `subscriptions/listen`.
    acknowledged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestStage {
    Queued,
    Sent,
}

impl PendingRequest {
    fn is_listen(&self) -> bool {
        self.request.is_listen()
    }

    /// Returns whether the bridge has the request and will answer it, which it does not do for a
    /// listen.
    fn awaits_response(&self) -> bool {
        self.stage == RequestStage::Sent && !self.is_listen()
    }
}

impl InFlightRequests {
    /// Queues a request of the client. Returns false, without queueing it, if its id is in use.
    pub(crate) fn insert(&mut self, request: JsonRpcRequest) -> bool {
        let Entry::Vacant(entry) = self.requests.entry(request.id.clone()) else {
            return false;
        };
        entry.insert(PendingRequest {
            request,
            stage: RequestStage::Queued,
            was_requeued: false,
            acknowledged: false,
        });
        true
    }

    /// Marks the queued requests that may be sent as sent, and returns them in the order of their
    /// arrival.
    pub(crate) fn send_queued(
        &mut self,
        may_send: impl Fn(&JsonRpcRequest) -> bool,
    ) -> Vec<JsonRpcRequest> {
        let queued = self
            .requests
            .values_mut()
            .filter(|pending| pending.stage == RequestStage::Queued && may_send(&pending.request));
        queued
            .map(|pending| {
                pending.stage = RequestStage::Sent;
                pending.request.clone()
            })
            .collect()
    }

    /// Removes and returns the queued requests, which must be answered without a bridge. Listens
    /// stay queued.
    pub(crate) fn on_connect_failed(&mut self) -> Vec<JsonRpcRequest> {
        self.remove_where(|pending| pending.stage == RequestStage::Queued && !pending.is_listen())
    }

    /// Removes and returns the requests that the bridge has not answered, which must fail. All
    /// others are queued for the next bridge.
    pub(crate) fn on_bridge_lost(&mut self) -> Vec<JsonRpcRequest> {
        let unanswered = self.remove_where(PendingRequest::awaits_response);
        for pending in self.requests.values_mut() {
            pending.stage = RequestStage::Queued;
        }
        unanswered
    }

    /// Removes and returns the queued requests that can be answered without a bridge.
    pub(crate) fn remove_queued(
        &mut self,
        can_answer: impl Fn(&JsonRpcRequest) -> bool,
    ) -> Vec<JsonRpcRequest> {
        self.remove_where(|pending| {
            pending.stage == RequestStage::Queued && can_answer(&pending.request)
        })
    }

    /// Queues a request again that the bridge certainly did not execute. Returns false if it is not
    /// in flight any more or was requeued before.
    pub(crate) fn requeue(&mut self, id: &RequestId) -> bool {
        match self.requests.get_mut(id) {
            Some(pending) if !pending.was_requeued || pending.is_listen() => {
                pending.was_requeued = true;
                pending.stage = RequestStage::Queued;
                true
            }
            _ => false,
        }
    }

    /// Removes a request whose answer has arrived. Returns `None` if it is not in flight any more;
    /// the answer must not reach the client then.
    pub(crate) fn complete(&mut self, id: &RequestId) -> Option<JsonRpcRequest> {
        self.requests
            .shift_remove(id)
            .map(|pending| pending.request)
    }

    /// Removes a request that the client cancelled. Returns whether it must be cancelled at the
    /// bridge as well.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        self.requests
            .shift_remove(id)
            .is_some_and(|pending| pending.stage == RequestStage::Sent)
    }

    /// Returns whether the bridge will answer other requests than this one.
    pub(crate) fn has_others_sent(&self, id: &RequestId) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|(other, pending)| other != id && pending.awaits_response())
    }

    /// Returns whether requests are queued while the bridge has none that it will answer.
    pub(crate) fn has_only_queued(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|pending| pending.stage == RequestStage::Queued)
            && !self.requests.values().any(PendingRequest::awaits_response)
    }

    /// Returns whether this request is a `subscriptions/listen` that is in flight.
    pub(crate) fn is_listen(&self, id: &RequestId) -> bool {
        self.requests.get(id).is_some_and(PendingRequest::is_listen)
    }

    /// Marks a listen as acknowledged. Returns true the first time only: when the listen is sent to
    /// another bridge, the client must not receive a second acknowledgement.
    pub(crate) fn acknowledge(&mut self, id: &RequestId) -> bool {
        let listen = self
            .requests
            .get_mut(id)
            .filter(|pending| pending.is_listen());
        listen.is_some_and(|listen| !std::mem::replace(&mut listen.acknowledged, true))
    }

    /// Marks all listens as acknowledged and returns those that were not. Without a bridge we
    /// acknowledge them ourselves.
    pub(crate) fn acknowledge_all(&mut self) -> Vec<JsonRpcRequest> {
        let new = self
            .requests
            .values_mut()
            .filter(|pending| pending.is_listen() && !pending.acknowledged);
        new.map(|pending| {
            pending.acknowledged = true;
            pending.request.clone()
        })
        .collect()
    }

    /// Returns all listens that are in flight, in the order of their arrival.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = &JsonRpcRequest> {
        let requests = self.requests.values().map(|pending| &pending.request);
        requests.filter(|request| request.is_listen())
    }

    /// Adds a request of the bridge to the client.
    pub(crate) fn insert_from_bridge(&mut self, id: RequestId) {
        self.from_bridge.insert(id);
    }

    /// Removes a request of the bridge that the client answered or the bridge cancelled. Returns
    /// whether it was in flight.
    pub(crate) fn remove_from_bridge(&mut self, id: &RequestId) -> bool {
        self.from_bridge.remove(id)
    }

    /// Removes all requests of a bridge that is gone and returns their ids.
    pub(crate) fn drain_from_bridge(&mut self) -> Vec<RequestId> {
        self.from_bridge.drain().collect()
    }

    /// Removes all requests that the bridge has, because the client is gone, and returns their ids.
    pub(crate) fn drain_sent(&mut self) -> Vec<RequestId> {
        let sent = self.remove_where(|pending| pending.stage == RequestStage::Sent);
        sent.into_iter().map(|request| request.id).collect()
    }

    fn remove_where(&mut self, predicate: impl Fn(&PendingRequest) -> bool) -> Vec<JsonRpcRequest> {
        let removed = self
            .requests
            .extract_if(.., |_, pending| predicate(pending));
        removed.map(|(_, pending)| pending.request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::from_json(&number.into())
    }

    fn request(number: i64, method: &str) -> JsonRpcRequest {
        JsonRpcRequest {
            id: id(number),
            ..JsonRpcRequest::new("", method, "{}")
        }
    }

    fn call(number: i64) -> JsonRpcRequest {
        request(number, "tools/call")
    }

    fn listen(number: i64) -> JsonRpcRequest {
        request(number, "subscriptions/listen")
    }

    fn ids(requests: &[JsonRpcRequest]) -> Vec<i64> {
        let numbers = requests.iter().map(|request| request.id.to_string());
        numbers.map(|number| number.parse().unwrap()).collect()
    }

    #[test]
    fn queued_requests_are_sent_once_in_order() {
        let mut requests = InFlightRequests::default();
        for number in [3, 1, 2] {
            assert!(requests.insert(call(number)));
        }
        assert_eq!(ids(&requests.send_queued(|_| true)), [3, 1, 2]);
        assert!(requests.send_queued(|_| true).is_empty());
        assert!(requests.complete(&id(1)).is_some());
        assert!(
            requests.complete(&id(1)).is_none(),
            "a request is completed once"
        );
        assert!(!requests.insert(call(2)), "its id is in use");
    }

    #[test]
    fn a_lost_bridge_fails_calls_and_requeues_listens() {
        let mut requests = InFlightRequests::default();
        assert!(requests.insert(call(1)));
        assert!(requests.insert(listen(2)));
        requests.send_queued(|_| true);
        assert!(requests.insert(call(3)));
        assert_eq!(ids(&requests.on_bridge_lost()), [1]);
        assert!(
            requests.complete(&id(1)).is_none(),
            "a late answer is dropped"
        );
        assert_eq!(ids(&requests.on_connect_failed()), [3]);
        assert_eq!(ids(&requests.send_queued(|_| true)), [2]);
    }

    #[test]
    fn a_request_is_requeued_once_and_a_listen_always() {
        let mut requests = InFlightRequests::default();
        assert!(requests.insert(call(1)));
        assert!(requests.insert(listen(2)));
        for expected in [true, false] {
            requests.send_queued(|_| true);
            assert_eq!(requests.requeue(&id(1)), expected);
            assert!(requests.requeue(&id(2)));
        }
    }

    #[test]
    fn sent_requests_count_until_they_are_answered() {
        let mut requests = InFlightRequests::default();
        assert!(requests.insert(call(1)));
        assert!(requests.insert(listen(2)));
        requests.send_queued(|_| true);
        assert!(requests.insert(call(3)));
        assert!(!requests.has_others_sent(&id(1)));
        assert!(requests.has_others_sent(&id(3)));
        assert!(!requests.has_only_queued(), "the first is sent");
        assert!(requests.complete(&id(1)).is_some());
        assert!(requests.has_only_queued());
        requests.send_queued(|_| true);
        assert!(!requests.has_only_queued());
    }

    #[test]
    fn only_sent_requests_are_cancelled_at_the_bridge() {
        let mut requests = InFlightRequests::default();
        assert!(requests.insert(call(1)));
        assert!(!requests.cancel(&id(1)));
        assert!(requests.insert(call(1)));
        assert!(requests.insert(call(2)));
        requests.send_queued(|_| true);
        assert!(requests.cancel(&id(1)));
        assert!(!requests.cancel(&id(1)), "it is not in flight any more");
        assert!(requests.insert(call(3)));
        assert_eq!(requests.drain_sent(), [id(2)]);
    }

    #[test]
    fn a_listen_is_acknowledged_once() {
        let mut requests = InFlightRequests::default();
        assert!(requests.insert(listen(1)));
        assert!(requests.insert(call(2)));
        assert!(requests.acknowledge(&id(1)));
        assert!(!requests.acknowledge(&id(1)));
        assert!(!requests.acknowledge(&id(2)), "not a listen");
        assert!(requests.is_listen(&id(1)) && !requests.is_listen(&id(2)));
        assert!(requests.insert(listen(3)));
        assert_eq!(ids(&requests.acknowledge_all()), [3]);
        assert!(!requests.acknowledge(&id(3)));
        assert_eq!(requests.subscriptions().count(), 2);
    }

    #[test]
    fn a_request_of_the_bridge_is_removed_once() {
        let mut requests = InFlightRequests::default();
        requests.insert_from_bridge(id(0));
        assert!(requests.remove_from_bridge(&id(0)));
        assert!(!requests.remove_from_bridge(&id(0)));
        requests.insert_from_bridge(id(1));
        assert_eq!(requests.drain_from_bridge(), [id(1)]);
        assert!(!requests.remove_from_bridge(&id(1)));
    }
}
