use futures_util::StreamExt;

use super::*;

fn session(address: u8, token: &str) -> McpSession {
    let address = std::net::IpAddr::from([192, 0, 2, address]);
    let id = uuid::Uuid::new_v4().to_string().into();
    McpSession::new(id, Party::new(address.into(), RealmId::from_token(token)))
}

impl EventLog {
    fn append_bytes(&self, session: &McpSession, stream: &str, bytes: usize) -> String {
        let json = EventJson::new(vec![b'x'; bytes]);
        self.append(session, stream, StoredEvent::Message(json))
    }

    fn knows(&self, session: &McpSession, event_id: &str) -> bool {
        self.bytes_after(session, event_id).is_some()
    }

    fn assert_consistent(&self) {
        let state = self.lock();
        let events = state.logs.values().flat_map(|log| &log.events);
        let of_events: usize = events.map(|(_, event)| event.cost()).sum();
        let of_logs: usize = state.logs.values().map(|log| log.bytes).sum();
        let sessions = || state.by_party.values().flat_map(HashMap::values);
        let of_sessions: usize = sessions().map(|held| held.bytes).sum();
        let total = state.holdings.total();
        assert_eq!([of_events, of_logs, of_sessions], [total; 3]);
        let listed: usize = sessions().map(|held| held.logs.len()).sum();
        assert_eq!(listed, state.logs.len());
    }
}

#[tokio::test]
async fn a_stream_that_never_ends_keeps_its_newest_events() {
    let events = EventLog::new(80_000);
    let (busy, calm) = (session(1, "busy"), session(1, "calm"));
    let answer = events.append_bytes(&calm, "answer", 100);
    let first = events.append_bytes(&busy, "endless", 100);
    for _ in 0..1_000 {
        events.append_bytes(&busy, "endless", 100);
    }
    events.assert_consistent();
    assert!(events.bytes() <= 80_000 / STREAM_LOG_DIVISOR + 1_000);
    assert!(events.knows(&calm, &answer));
    let last = events.lock().last_number;
    let rest: Vec<_> = events.replay(&first).take(10).collect().await;
    let number = |index: usize| parse_event_id(&rest[index].0).unwrap().1;
    assert!(number(0) > 900 && number(9) < last);
}

#[tokio::test]
async fn a_replay_waits_for_further_events_and_ends_with_the_response() {
    let events = EventLog::new(80_000);
    let session = session(1, "token");
    let first = events.append(&session, "stream", StoredEvent::Priming);
    let replay = events.replay(&first).collect::<Vec<_>>();
    let append = async {
        events.append_bytes(&session, "stream", 1);
        tokio::task::yield_now().await;
        let response = StoredEvent::Response(EventJson::new(b"{}".to_vec()));
        events.append(&session, "stream", response)
    };
    let (replayed, last) = tokio::join!(replay, append);
    assert_eq!(replayed.len(), 2);
    assert_eq!(replayed[1].0, last);
    assert!(events.knows(&session, &replayed[0].0) && !events.knows(&session, &last));
    // Nothing follows in a log that was removed.
    let second = replayed[0].0.clone();
    events.remove_stream("stream");
    assert_eq!(events.replay(&second).count().await, 0);
    assert!(!events.knows(&session, &second));
}

#[test]
fn the_session_with_most_bytes_is_evicted_first() {
    let events = EventLog::new(80_000);
    let (busy, calm) = (session(1, "token"), session(1, "token"));
    let answer = events.append_bytes(&calm, "answer", 1_000);
    for stream in 0..100 {
        events.append_bytes(&busy, &stream.to_string(), 5_000);
    }
    events.assert_consistent();
    assert!(events.bytes() <= 80_000);
    assert!(events.knows(&calm, &answer) && !events.knows(&busy, &answer));
}

#[test]
fn the_sessions_of_one_address_do_not_evict_the_logs_of_another() {
    let events = EventLog::new(80_000);
    let other = session(1, "other");
    let answer = events.append_bytes(&other, "answer", 9_000);
    // Each of these sessions has less than the other one.
    for number in 0..100 {
        let session = session(2, &format!("token {}", number % 7));
        events.append_bytes(&session, &number.to_string(), 5_000);
        events.assert_consistent();
    }
    assert!(events.bytes() <= 80_000);
    assert!(events.knows(&other, &answer));
    events.remove_session(&other);
    events.assert_consistent();
    assert!(!events.knows(&other, &answer));
}

#[test]
fn an_evicted_log_can_begin_again_and_is_removed_with_its_session() {
    let events = EventLog::new(80_000);
    let (one, two) = (session(1, "one"), session(1, "two"));
    events.append_bytes(&one, "evicted", 100);
    for stream in 0..20 {
        events.append_bytes(&one, &stream.to_string(), 9_000);
    }
    assert!(!events.lock().logs.contains_key("evicted"));
    let id = events.append_bytes(&one, "evicted", 100);
    assert!(events.knows(&one, &id) && !events.knows(&two, &id));
    events.remove_session(&one);
    events.assert_consistent();
    assert_eq!(events.bytes(), 0);
    assert!(events.lock().by_party.is_empty());
}
