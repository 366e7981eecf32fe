//! Which requests are open in either direction, and how they end. No I/O, no clock.
//!
//! A client's request *waits* until a bridge is there, is then *sent*, and leaves by exactly one
//! of `answered`, `cancelled`, `bridge_lost` and `no_bridge`. A `subscriptions/listen` outlives
//! the bridge: when the bridge is lost it waits for the next one under the same id.

use std::collections::HashSet;

use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::message::{Id, Request};

/// The table of open requests.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    requests: IndexMap<Id, Open>,
    /// Requests of the bridge that the client has not answered.
    asked: HashSet<Id>,
}

#[derive(Debug)]
struct Open {
    request: Request,
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
        self.request.is_listen()
    }
}

impl InFlight {
    /// The client sent a request. It waits. False, and nothing happens, if its id is in use.
    pub(crate) fn opened(&mut self, request: Request) -> bool {
        let Entry::Vacant(place) = self.requests.entry(request.id.clone()) else {
            return false;
        };
        place.insert(Open {
            request,
            stage: Stage::Waiting,
            repeated: false,
            acknowledged: false,
        });
        true
    }

    /// A bridge is there: everything that waits, in order of arrival, is to be sent now.
    pub(crate) fn bridge_found(&mut self) -> Vec<Request> {
        let waiting = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.stage == Stage::Waiting);
        waiting
            .map(|(_, open)| {
                open.stage = Stage::Sent;
                open.request.clone()
            })
            .collect()
    }

    /// No bridge could be found: what waited is to be answered without one. Listens go on waiting.
    pub(crate) fn no_bridge(&mut self) -> Vec<Request> {
        self.take(|open| open.stage == Stage::Waiting && !open.listens())
    }

    /// The bridge is gone: what it had not answered is to be answered with an error.
    pub(crate) fn bridge_lost(&mut self) -> Vec<Request> {
        let ended = self.take(|open| open.stage == Stage::Sent && !open.listens());
        for open in self.requests.values_mut() {
            open.stage = Stage::Waiting;
        }
        ended
    }

    /// A request came back that the bridge certainly did not execute. True if it now waits to be
    /// sent again; false if it is not open any more or came back for the second time.
    pub(crate) fn came_back(&mut self, id: &Id) -> bool {
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
    pub(crate) fn answered(&mut self, id: &Id) -> Option<Request> {
        self.requests.shift_remove(id).map(|open| open.request)
    }

    /// The client does not want the answer any more. True if the bridge has to hear of it.
    pub(crate) fn cancelled(&mut self, id: &Id) -> bool {
        self.requests
            .shift_remove(id)
            .is_some_and(|open| open.stage == Stage::Sent)
    }

    /// Whether others than this one are with the bridge and will have an answer.
    pub(crate) fn others_are_sent(&self, id: &Id) -> bool {
        let mut open = self.requests.iter();
        open.any(|(other, open)| other != id && open.stage == Stage::Sent && !open.listens())
    }

    /// Whether something waits to be sent, and nothing is with the bridge that will have an answer.
    pub(crate) fn only_waits(&self) -> bool {
        let open = || self.requests.values();
        open().any(|open| open.stage == Stage::Waiting)
            && !open().any(|open| open.stage == Stage::Sent && !open.listens())
    }

    /// Whether this request is an open `subscriptions/listen`.
    pub(crate) fn listens(&self, id: &Id) -> bool {
        self.requests.get(id).is_some_and(Open::listens)
    }

    /// A listen is acknowledged. True the first time: the client must not see a second one when
    /// its stream is opened again at another bridge.
    pub(crate) fn acknowledged(&mut self, id: &Id) -> bool {
        let open = self.requests.get_mut(id).filter(|open| open.listens());
        open.is_some_and(|open| !std::mem::replace(&mut open.acknowledged, true))
    }

    /// Without a bridge we acknowledge ourselves: the listens that had none yet.
    pub(crate) fn acknowledge_all(&mut self) -> Vec<Request> {
        let new = self
            .requests
            .iter_mut()
            .filter(|(_, open)| open.listens() && !open.acknowledged);
        new.map(|(_, open)| {
            open.acknowledged = true;
            open.request.clone()
        })
        .collect()
    }

    /// The open listens, in order of arrival.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = &Request> {
        let listens = self.requests.values().filter(|open| open.listens());
        listens.map(|open| &open.request)
    }

    /// The bridge asks the client.
    pub(crate) fn asked(&mut self, id: Id) {
        self.asked.insert(id);
    }

    /// The client replied, or the bridge does not want the reply any more. True if it was asked.
    pub(crate) fn replied(&mut self, id: &Id) -> bool {
        self.asked.remove(id)
    }

    /// Nobody wants the replies any more: the ids of all that was asked.
    pub(crate) fn forget_asked(&mut self) -> Vec<Id> {
        self.asked.drain().collect()
    }

    /// The client is gone: the ids of what the bridge is still working on.
    pub(crate) fn end_of_input(&mut self) -> Vec<Id> {
        let sent = self.take(|open| open.stage == Stage::Sent);
        sent.into_iter().map(|request| request.id).collect()
    }

    fn take(&mut self, leaves: impl Fn(&Open) -> bool) -> Vec<Request> {
        let left = self.requests.extract_if(.., |_, open| leaves(open));
        left.map(|(_, open)| open.request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> Id {
        Id::new(&number.into())
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
    fn what_waits_is_sent_in_order_and_once() {
        let mut table = InFlight::default();
        for number in [3, 1, 2] {
            assert!(table.opened(call(number)));
        }
        assert_eq!(ids(&table.bridge_found()), [3, 1, 2]);
        assert!(table.bridge_found().is_empty());
        assert!(table.answered(&id(1)).is_some());
        assert!(table.answered(&id(1)).is_none(), "a request ends once");
        assert!(!table.opened(call(2)), "its id is in use");
    }

    #[test]
    fn a_lost_bridge_ends_calls_and_keeps_listens() {
        let mut table = InFlight::default();
        assert!(table.opened(call(1)));
        assert!(table.opened(listen(2)));
        table.bridge_found();
        assert!(table.opened(call(3)));
        assert_eq!(ids(&table.bridge_lost()), [1]);
        assert!(table.answered(&id(1)).is_none(), "a late answer is dropped");
        assert_eq!(ids(&table.no_bridge()), [3]);
        assert_eq!(ids(&table.bridge_found()), [2]);
    }

    #[test]
    fn a_request_comes_back_once_a_listen_as_often_as_needed() {
        let mut table = InFlight::default();
        assert!(table.opened(call(1)));
        assert!(table.opened(listen(2)));
        for expected in [true, false] {
            table.bridge_found();
            assert_eq!(table.came_back(&id(1)), expected);
            assert!(table.came_back(&id(2)));
        }
    }

    #[test]
    fn others_count_while_they_will_have_an_answer() {
        let mut table = InFlight::default();
        assert!(table.opened(call(1)));
        assert!(table.opened(listen(2)));
        table.bridge_found();
        assert!(table.opened(call(3)), "it waits");
        assert!(!table.others_are_sent(&id(1)));
        assert!(table.others_are_sent(&id(3)));
        assert!(!table.only_waits(), "the first is sent");
        assert!(table.answered(&id(1)).is_some());
        assert!(table.only_waits());
        table.bridge_found();
        assert!(!table.only_waits());
    }

    #[test]
    fn only_what_was_sent_has_to_be_cancelled_at_the_bridge() {
        let mut table = InFlight::default();
        assert!(table.opened(call(1)));
        assert!(!table.cancelled(&id(1)));
        assert!(table.opened(call(1)));
        assert!(table.opened(call(2)));
        table.bridge_found();
        assert!(table.cancelled(&id(1)));
        assert!(!table.cancelled(&id(1)), "unknown by now");
        assert!(table.opened(call(3)));
        assert_eq!(table.end_of_input(), [id(2)]);
    }

    #[test]
    fn a_listen_is_acknowledged_once() {
        let mut table = InFlight::default();
        assert!(table.opened(listen(1)));
        assert!(table.opened(call(2)));
        assert!(table.acknowledged(&id(1)));
        assert!(!table.acknowledged(&id(1)));
        assert!(!table.acknowledged(&id(2)), "not a listen");
        assert!(table.listens(&id(1)) && !table.listens(&id(2)));
        assert!(table.opened(listen(3)));
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
