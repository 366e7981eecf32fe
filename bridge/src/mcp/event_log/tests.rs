use futures_util::StreamExt;
use rmcp::model::{CustomNotification, ServerNotification};

use super::*;

fn event(bytes: usize) -> ServerSseMessage {
    let params = serde_json::json!({ "x": "x".repeat(bytes) });
    let notification = CustomNotification::new("news", Some(params));
    let notification = ServerNotification::CustomNotification(notification);
    ServerSseMessage::from_message(ServerJsonRpcMessage::notification(notification))
}

impl EventLog {
    /// Stores an event, and binds its stream to the session.
    async fn append_for_session(&self, session: &SessionId, stream: &str, bytes: usize) -> EventId {
        let id = self.store_event(stream, &event(bytes)).await.unwrap();
        self.bind_session(session, &id);
        id
    }

    fn assert_consistent(&self) {
        let state = self.lock();
        let of_logs: usize = state.logs.values().map(|log| log.bytes).sum();
        let of_events = state.logs.values().flat_map(|log| &log.events);
        let of_events: usize = of_events.map(|event| event.bytes).sum();
        let of_sessions: usize = state
            .by_session
            .values()
            .map(|session_logs| session_logs.bytes)
            .sum();
        assert_eq!(
            [of_logs, of_events, of_sessions],
            [state.bytes, state.bytes, state.bytes]
        );
        let bound = state.logs.values().filter(|log| log.party.is_some());
        let bound: usize = bound.map(|log| log.bytes).sum();
        assert_eq!(bound, state.holdings.total());
        let listed: usize = state.by_session.values().map(|held| held.logs.len()).sum();
        assert_eq!(listed, state.logs.len());
    }
}

#[tokio::test]
async fn a_stream_that_never_ends_keeps_its_newest_events() {
    let events = EventLog::new(80_000, CpuPool::new());
    let (busy, calm): (SessionId, SessionId) = ("busy".into(), "calm".into());
    let state = events.append_for_session(&calm, "answer", 100).await;
    let first = events.append_for_session(&busy, "endless", 100).await;
    for _ in 0..1_000 {
        events.append_for_session(&busy, "endless", 100).await;
    }
    events.assert_consistent();
    assert!(events.lock().bytes <= 80_000 / STREAM_LOG_DIVISOR + 1_000);
    assert!(events.belongs_to(&calm, &state));
    let last = events.lock().last_number;
    let realm = RealmId::from_token("token");
    let replayed = REALM.scope(realm, events.replay_events_after(&first));
    let rest = replayed.await.unwrap();
    let rest: Vec<_> = rest.take(10).collect().await;
    let number =
        |event: &ServerSseMessage| parse_event_id(event.event_id.as_ref().unwrap()).unwrap().1;
    assert!(number(&rest[0]) > 900 && number(&rest[9]) < last);
}

#[tokio::test]
async fn notifications_of_the_same_change_are_stored_once() {
    use rmcp::model::{
        ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ToolListChangedNotification,
    };
    let events = EventLog::new(8 * 1024 * 1024, CpuPool::new());
    let session: SessionId = "session".into();
    let notify = async |notification: ServerNotification| {
        let message = ServerJsonRpcMessage::notification(notification);
        let event = ServerSseMessage::from_message(message);
        events.store_event("stream", &event).await.unwrap()
    };
    let first = events.append_for_session(&session, "stream", 100).await;
    let mut last = first.clone();
    for number in 0..1_000 {
        let tools = ToolListChangedNotification::default();
        last = notify(ServerNotification::ToolListChangedNotification(tools)).await;
        let param = ResourceUpdatedNotificationParam::new(format!("test:{}", number % 2));
        let resource = ResourceUpdatedNotification::new(param);
        notify(ServerNotification::ResourceUpdatedNotification(resource)).await;
    }
    events.assert_consistent();
    // The first event, and the newest of the list of tools and of either resource.
    let numbers = |state: &EventLogState| -> Vec<u64> {
        let log = &state.logs["stream"];
        log.events.iter().map(|event| event.number).collect()
    };
    let newest = parse_event_id(&last).unwrap().1;
    assert_eq!(numbers(&events.lock()), [1, newest - 1, newest, newest + 1]);
    // A client that saw a notification which has been replaced receives the newer ones.
    let realm = RealmId::from_token("token");
    let replayed = REALM.scope(realm, events.replay_events_after("stream/2"));
    let rest: Vec<_> = replayed.await.unwrap().take(3).collect().await;
    assert_eq!(rest[1].event_id.as_ref(), Some(&last));
}

#[tokio::test]
async fn an_event_that_nobody_reads_belongs_to_the_session_of_its_stream() {
    let events = EventLog::new(8 * 1024 * 1024, CpuPool::new());
    let session: SessionId = "session".into();
    let start = events.standalone_start(&session);
    assert!(is_in_standalone_stream(&session, &start));
    assert!(!is_in_standalone_stream(&"other".into(), &start));
    events
        .store_event("session:common", &event(10))
        .await
        .unwrap();
    assert!(events.belongs_to(&session, &start));
    events.remove_session(&session);
    events.assert_consistent();
    assert_eq!(events.bytes(), 0);
}

#[tokio::test]
async fn an_event_counts_with_the_memory_of_its_message() {
    let events = EventLog::new(8 * 1024 * 1024, CpuPool::new());
    events.store_event("stream", &event(0)).await.unwrap();
    assert!(events.bytes() > EVENT_OVERHEAD_BYTES + size_of::<ServerJsonRpcMessage>());
}

#[tokio::test]
async fn the_session_with_most_bytes_is_evicted_first() {
    let events = EventLog::new(80_000, CpuPool::new());
    let (busy, calm): (SessionId, SessionId) = ("busy".into(), "calm".into());
    let state = events.append_for_session(&calm, "answer", 1_000).await;
    for stream in 0..100 {
        events
            .append_for_session(&busy, &stream.to_string(), 5_000)
            .await;
    }
    events.assert_consistent();
    assert!(events.lock().bytes <= 80_000);
    assert!(events.belongs_to(&calm, &state));
}

#[tokio::test]
async fn the_sessions_of_one_address_do_not_evict_the_logs_of_another() {
    let events = EventLog::new(80_000, CpuPool::new());
    let other: SessionId = "other".into();
    let party = |address: u8, token: &str| {
        let address = std::net::IpAddr::from([192, 0, 2, address]);
        Party::new(address.into(), RealmId::from_token(token))
    };
    events.add_session(&other, party(1, "other"));
    let state = events.append_for_session(&other, "answer", 9_000).await;
    // Each of these sessions has less than the other one.
    for number in 0..100 {
        let session: SessionId = format!("session {number}").into();
        events.add_session(&session, party(2, &format!("token {}", number % 7)));
        let stream = number.to_string();
        events.append_for_session(&session, &stream, 5_000).await;
        events.assert_consistent();
    }
    assert!(events.lock().bytes <= 80_000);
    assert!(events.belongs_to(&other, &state));
    // Nor do streams that nobody reads, which have no session yet.
    for number in 0..100 {
        let stream = format!("unread {number}");
        events.store_event(&stream, &event(5_000)).await.unwrap();
    }
    events.assert_consistent();
    assert!(events.belongs_to(&other, &state));
    events.remove_session(&other);
    events.assert_consistent();
}

#[tokio::test]
async fn an_evicted_log_is_bound_again_on_append_and_removed_with_its_session() {
    let events = EventLog::new(80_000, CpuPool::new());
    let (one, two): (SessionId, SessionId) = ("one".into(), "two".into());
    events.append_for_session(&one, "common", 100).await;
    for stream in 0..20 {
        events
            .append_for_session(&one, &stream.to_string(), 9_000)
            .await;
    }
    assert!(!events.lock().logs.contains_key("common"));
    let id = events.append_for_session(&one, "common", 100).await;
    assert!(events.belongs_to(&one, &id) && !events.belongs_to(&two, &id));
    events.remove_session(&one);
    events.assert_consistent();
    assert_eq!(events.lock().bytes, 0);
    assert!(
        events
            .lock()
            .by_session
            .values()
            .all(|held| held.logs.is_empty())
    );
}
