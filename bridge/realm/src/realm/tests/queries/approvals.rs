//! Calls that wait for the approval of a person.

use bridge_protocol::QueryAnswer;

use super::attaching::reloaded_hello;
use super::*;

fn request(call: &str) -> Box<RawValue> {
    raw(&format!(
        r#"{{"type":"approval-requested","id":"{call}","tool":"t","arguments":{{}},"expiresInMs":60000}}"#
    ))
}

impl Harness {
    /// Creates a page with a query whose agent waits for the approval of these calls.
    fn with_requests(calls: &[&str]) -> Self {
        let mut scene = Self::with_accepted_query();
        for call in calls {
            scene.request_approval(call);
        }
        scene
    }

    fn request_approval(&mut self, call: &str) -> &mut Self {
        let effects = self
            .realm
            .query_progressed(&id(QUERY), request(call), self.now);
        self.apply(effects.unwrap())
    }

    fn answer_as(
        &mut self,
        session: &str,
        connection: ConnectionId,
        uuid: &str,
        call: &str,
    ) -> Vec<String> {
        let answer = QueryAnswer {
            uuid: id(uuid),
            id: call.to_owned(),
            approved: call != "no",
        };
        let effects = self
            .realm
            .approval_answered(&session.into(), connection, answer);
        self.apply(effects).effect_log()
    }

    fn approve(&mut self, call: &str) -> Vec<String> {
        self.answer_as(TAB, FIRST_CONNECTION, QUERY, call)
    }

    fn approval_sent(&mut self, call: &str, outcome: Result<(), QueryError>) -> Vec<String> {
        self.approval_of_round_sent(call, 1, outcome)
    }

    fn approval_of_round_sent(
        &mut self,
        call: &str,
        round: u64,
        outcome: Result<(), QueryError>,
    ) -> Vec<String> {
        let effects = self.realm.approval_sent(&id(QUERY), call, round, outcome);
        self.apply(effects).effect_log()
    }
}

#[test]
fn a_page_that_receives_a_request_later_reads_the_time_that_is_left() {
    let left_ms = |scene: &Harness| {
        let request = scene.effects.iter().rev().find_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::QueryProgress(progress),
                ..
            } => serde_json::from_str::<serde_json::Value>(progress.content.get()).ok(),
            _ => None,
        });
        request.unwrap()["expiresInMs"].clone()
    };
    let mut scene = Harness::with_requests(&["1"]);
    assert_eq!(left_ms(&scene), 60_000);
    scene.reload();
    for expected in [45_000, 30_000] {
        scene.now.instant += Duration::from_secs(15);
        scene.attach();
        assert_eq!(left_ms(&scene), expected);
    }
    scene.now.instant += Duration::from_secs(60);
    scene.attach();
    assert_eq!(left_ms(&scene), 0);

    let mut scene = Harness::with_accepted_query();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.request_approval("1");
    scene.now.instant += Duration::from_secs(1);
    scene.connect_page(SECOND_CONNECTION, page_hello(TAB));
    assert_eq!(left_ms(&scene), 59_000);
}

#[test]
fn an_answer_is_sent_once_for_each_request() {
    let mut scene = Harness::with_requests(&["1", "no"]);
    assert_eq!(scene.approve("1"), ["approve q 1 true"]);
    assert_eq!(scene.approve("no"), ["approve q no false"]);
    for _ in 0..10_000 {
        assert!(scene.approve("1").is_empty());
    }
    assert!(scene.approval_sent("1", Ok(())).is_empty());
    assert!(scene.approve("1").is_empty());
    // The agent may ask for the same call again.
    scene.request_approval("1");
    assert_eq!(scene.approve("1"), ["approve q 1 true"]);
}

#[test]
fn a_late_outcome_of_an_earlier_request_for_the_same_call_changes_nothing() {
    for outcome in [Ok(()), Err(agent_failed("late"))] {
        let mut scene = Harness::with_requests(&["1"]);
        assert_eq!(scene.approve("1"), ["approve q 1 true"]);
        scene.request_approval("1");
        assert!(scene.approval_of_round_sent("1", 1, outcome).is_empty());
        assert_eq!(scene.approve("1"), ["approve q 1 true"]);
        let log = scene.approval_of_round_sent("1", 2, Err(agent_failed("no")));
        assert!(log[0].contains("answer again"), "{log:?}");
    }
}

#[test]
fn answers_that_nothing_waits_for_are_ignored() {
    let mut scene = Harness::with_requests(&["1"]);
    scene.connect_page(SECOND_CONNECTION, page_hello("other"));
    let endless = "x".repeat(1_000_000);
    for (session, connection, uuid, call) in [
        (TAB, FIRST_CONNECTION, QUERY, "2"),
        (TAB, FIRST_CONNECTION, QUERY, ""),
        (TAB, FIRST_CONNECTION, QUERY, &*endless),
        (TAB, FIRST_CONNECTION, "unknown", "1"),
        (TAB, FIRST_CONNECTION, &*endless, "1"),
        ("other", SECOND_CONNECTION, QUERY, "1"),
        // The connection of another session.
        (TAB, SECOND_CONNECTION, QUERY, "1"),
    ] {
        let log = scene.answer_as(session, connection, uuid, call);
        assert!(log.is_empty(), "{log:?}");
    }
    assert_eq!(scene.approve("1"), ["approve q 1 true"]);
    scene.request_approval("3");
    scene.complete().unwrap();
    assert!(scene.approve("3").is_empty());
    assert!(
        scene
            .approval_sent("1", Err(agent_failed("late")))
            .is_empty()
    );
}

#[test]
fn a_frontend_answers_its_agent_itself() {
    let mut scene = Harness::with_page();
    let policy = QueryPolicy::from_query(&query_message(QUERY));
    let opened = scene
        .realm
        .query_opened(&id(QUERY), &TAB.into(), policy, scene.now);
    opened.unwrap();
    scene.accept();
    scene.request_approval("1");
    assert!(scene.approve("1").is_empty());
}

#[test]
fn an_answer_that_does_not_arrive_is_a_note_and_can_be_repeated() {
    let mut scene = Harness::with_requests(&["1"]);
    for attempt in 1..=3 {
        assert_eq!(scene.approve("1"), ["approve q 1 true"]);
        let log = scene.approval_sent("1", Err(agent_failed("Agent cannot be reached: no")));
        let next = match attempt {
            3 => "the call will not run",
            _ => "answer again",
        };
        let note = format!(
            r#"{{"type":"note","text":"The answer did not reach the agent: Agent cannot be reached: no; {next}"}}"#
        );
        assert_eq!(log, [note]);
    }
    assert!(scene.approve("1").is_empty());
}

#[test]
fn a_reloaded_page_is_sent_the_open_request_and_can_answer() {
    let mut scene = Harness::with_requests(&["1"]);
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    // A request that no person has seen.
    scene.request_approval("2");
    scene.connect_page(SECOND_CONNECTION, reloaded_hello());
    let requests = [request("1"), request("2")].map(|it| it.get().to_owned());
    let log = scene.attach();
    assert_eq!(log[..3], ["accepted", &requests[0], &requests[1]]);
    for call in ["1", "2"] {
        let log = scene.answer_as(TAB, SECOND_CONNECTION, QUERY, call);
        assert_eq!(log, [format!("approve q {call} true")]);
    }
    // A note that the page has not seen also waits for it.
    scene.disconnect(SECOND_CONNECTION, Disconnect::DocumentGone);
    assert!(scene.approval_sent("1", Err(agent_failed("no"))).is_empty());
    let third = ConnectionId(3);
    scene.connect_page(third, reloaded_hello());
    let log = scene.attach_to(TAB, third);
    assert!(log[3].contains("did not reach the agent"), "{log:?}");
}
