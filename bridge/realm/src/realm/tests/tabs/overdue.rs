//! Calls whose deadline passes: what the bridge knows about them, and what it has not read yet.

use bridge_protocol::CallsCheck;

use super::*;

const MAY_HAVE_RUN: Option<ErrorCode> = Some(ErrorCode::CallMayHaveRun);
const SUSPENDED: Option<ErrorCode> = Some(ErrorCode::PageSuspended);
const TIMED_OUT: Option<ErrorCode> = Some(ErrorCode::CallTimeout);

impl Harness {
    /// Creates a realm whose page, with the tool `echo`, answers no ping by itself.
    fn with_silent_browser() -> Self {
        let mut scene = Self::with_page();
        scene.browser_answers = false;
        scene
    }

    fn sent_probes(&self) -> Vec<u64> {
        let probes = self.effects.iter().filter_map(|effect| match effect {
            Effect::Probe { probe, .. } => Some(*probe),
            _ => None,
        });
        probes.collect()
    }

    fn pong(&mut self, probe: u64, data_arrived: bool) {
        let answer = ProbeAnswer {
            probe,
            data_arrived,
        };
        let effects = self
            .realm
            .probe_answered(&TAB.into(), FIRST_CONNECTION, answer, self.now);
        self.apply(effects);
    }

    fn connection_read(&mut self, probe: u64) {
        let effects = self
            .realm
            .connection_read(&TAB.into(), FIRST_CONNECTION, probe, self.now);
        self.apply(effects);
    }

    fn receipt(&mut self, call: &str) {
        self.realm
            .call_received(&TAB.into(), FIRST_CONNECTION, &call.into());
        self.realm.check_invariants();
    }

    fn stall_until(&mut self, seconds: f32) {
        let end = self.start + Duration::from_secs_f32(seconds);
        self.realm.bridge_stalled(end - self.now.instant);
        self.realm.check_invariants();
        self.advance_to(seconds);
    }

    fn failure_message(&self) -> &str {
        let failure = self.effects.iter().find_map(|effect| match effect {
            Effect::CompleteCall {
                outcome: CallOutcome::Failed(failure),
                ..
            } => Some(&failure.message),
            _ => None,
        });
        failure.expect("a call has failed")
    }
}

fn outcome(call: &str, code: Option<ErrorCode>) -> [(String, Option<ErrorCode>); 1] {
    [(call.to_owned(), code)]
}

#[test]
fn a_call_has_not_run_when_two_pings_in_succession_were_answered_without_its_receipt() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.advance_to(5.0);
    assert_eq!(scene.sent_probes(), [1]);
    assert_eq!(scene.call_outcomes(), []);
    scene.pong(1, false);
    assert_eq!(scene.sent_probes(), [2]);
    scene.pong(1, false);
    assert_eq!(scene.call_outcomes(), [], "the first pong again");
    scene.pong(2, false);
    assert_eq!(scene.call_outcomes(), outcome("c", SUSPENDED));
    let asked = CallsCheck {
        check: 1,
        request_ids: vec!["c".into()],
    };
    let effects = scene
        .realm
        .calls_checked(&TAB.into(), FIRST_CONNECTION, asked);
    assert!(matches!(
        &effects[..],
        [Effect::Send { message: BridgeToPage::CallsAlive(alive), .. }] if alive.ended.len() == 1
    ));
}

#[test]
fn a_pong_after_other_data_proves_nothing() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.advance_to(5.0);
    scene.pong(1, true);
    assert!(scene.sent_probes().is_empty());
    scene.advance_to(6.0);
    assert_eq!(scene.sent_probes(), [2]);
    scene.pong(2, false);
    scene.receipt("c");
    scene.pong(3, false);
    assert_eq!(scene.call_outcomes(), []);
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), outcome("c", None));
}

#[test]
fn a_call_may_have_run_when_a_ping_is_not_answered() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.advance_to(5.0);
    scene.connection_read(1);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(7.0);
    assert_eq!(scene.call_outcomes(), outcome("c", MAY_HAVE_RUN));
    let message = scene.failure_message();
    assert!(message.contains("check its effect"), "{message}");
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
}

#[test]
fn a_call_may_have_run_in_a_page_that_does_not_check_late_calls() {
    let mut scene = Harness::new();
    let hello = PageHello {
        abilities: PageAbilities {
            checks_late_calls: false,
            ..PageAbilities::SDK
        },
        ..page_hello(TAB)
    };
    let connected = scene
        .realm
        .page_connected(FIRST_CONNECTION, hello, scene.now);
    connected.unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.browser_answers = false;
    scene.call("c").unwrap();
    scene.advance_to(5.0);
    assert_eq!(scene.call_outcomes(), [], "its receipt may be unread");
    scene.connection_read(1);
    assert_eq!(scene.call_outcomes(), outcome("c", MAY_HAVE_RUN));
}

#[test]
fn a_call_that_was_sent_twice_may_have_run() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect(SECOND_CONNECTION);
    scene.register(SECOND_CONNECTION, &["echo"]);
    scene.advance_to(5.0);
    assert_eq!(scene.call_outcomes(), outcome("c", MAY_HAVE_RUN));
}

#[test]
fn a_call_that_was_sent_and_lost_its_connection_may_have_run() {
    let mut scene = Harness::with_page();
    scene.call("sent").unwrap();
    scene.advance_to(3.0);
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.call("waiting").unwrap();
    scene.advance_to(5.0);
    assert_eq!(scene.call_outcomes(), outcome("sent", MAY_HAVE_RUN));
    scene.advance_to(7.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(8.0);
    let gone = scene.call_outcomes();
    assert!(
        gone == outcome("waiting", SUSPENDED)
            || gone == outcome("waiting", Some(ErrorCode::PageGone)),
        "it was never sent: {gone:?}"
    );
}

#[test]
fn unread_data_of_the_page_delays_the_end_of_a_call_without_a_receipt() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.advance_to(5.0);
    for seconds in [7.0, 9.0, 11.0] {
        scene.advance_to(seconds);
        assert_eq!(scene.call_outcomes(), [], "at {seconds} s");
    }
    scene.receipt("c");
    scene.connection_read(1);
    scene.pong(1, true);
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), outcome("c", None));
}

#[test]
fn a_call_that_has_timed_out_ends_when_everything_is_read() {
    let mut scene = Harness::with_silent_browser();
    scene.call("answered").unwrap();
    scene.receipt("answered");
    scene.call("open").unwrap();
    scene.receipt("open");
    scene.advance_to(120.0);
    assert_eq!(scene.sent_probes(), [1], "one ping for both calls");
    scene.answer(FIRST_CONNECTION, "answered");
    assert_eq!(scene.call_outcomes(), outcome("answered", None));
    scene.connection_read(1);
    assert_eq!(scene.call_outcomes(), outcome("open", TIMED_OUT));
}

#[test]
fn a_page_that_sends_without_end_does_not_keep_a_call_from_timing_out() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.receipt("c");
    scene.advance_to(120.0);
    scene.advance_to(121.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(122.0);
    assert_eq!(scene.call_outcomes(), outcome("c", TIMED_OUT));
}

#[test]
fn a_stall_of_the_bridge_extends_calls_and_the_grace_period() {
    let mut scene = Harness::with_silent_browser();
    scene.call("c").unwrap();
    scene.advance_to(1.0);
    scene.stall_until(7.0);
    assert_eq!(scene.effects.len(), 0, "{:?}", scene.effects);
    scene.advance_to(10.9);
    assert!(scene.sent_probes().is_empty());
    scene.advance_to(11.0);
    assert_eq!(scene.sent_probes(), [1]);
    scene.receipt("c");
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.stall_until(31.0);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(35.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(36.0);
    assert_eq!(
        scene.call_outcomes(),
        outcome("c", Some(ErrorCode::PageGone))
    );
}

#[test]
fn only_an_idempotent_call_that_may_have_run_should_be_retried() {
    for (annotations, advice) in [
        ("{}", "check its effect before calling it again"),
        (r#"{"idempotentHint":true}"#, "retry"),
        (r#"{"readOnlyHint":true}"#, "retry"),
    ] {
        let mut scene = Harness::with_silent_browser();
        let definition = format!(r#"{{"name":"echo","annotations":{annotations}}}"#);
        let tool = parse_definition(Kind::Tool, definition).remove(0).unwrap();
        let call = new_call("c", tool);
        let effects = scene.realm.call_requested(&TAB.into(), call, scene.now);
        scene.apply(effects.unwrap());
        scene.advance_to(5.0);
        scene.connection_read(1);
        scene.advance_to(7.0);
        assert_eq!(scene.call_outcomes(), outcome("c", MAY_HAVE_RUN));
        let message = scene.failure_message();
        assert!(message.ends_with(advice), "{message}");
    }
}
