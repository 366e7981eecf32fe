//! Connecting, reconnecting and disconnecting.

use super::*;

fn retry_delay(page: &TestPage) -> Option<u32> {
    match page.statuses().last() {
        Some(Status::Reconnecting { retry_in_ms, .. }) => *retry_in_ms,
        other => panic!("not reconnecting: {other:?}"),
    }
}

fn failure(page: &TestPage) -> Failure {
    match page.statuses().pop() {
        Some(Status::Failed(failure)) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

#[test]
fn the_first_frame_identifies_the_page() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    assert_eq!(page.statuses(), [Status::Connecting]);
    page.open();
    let [PageToBridge::Authenticate(first)] = &page.sent[..] else {
        panic!("{:?}", page.sent);
    };
    assert_eq!(first.auth_token, Token("0123456789abcdef".into()));
    assert_eq!(first.session_id, Some(SessionId::from("tab-1")));
    assert_eq!(page.timer, Some(10_000), "the timeout of the answer");
    page.receive(authenticated("b-1"));
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
}

#[test]
fn connecting_again_has_no_effect() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    page.dispatch(|page| page.connect());
    assert_eq!(page.sockets_opened, 1);
}

#[test]
fn an_unreachable_bridge_is_retried_with_backoff() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    for max_wait in [250, 500, 1000, 2000] {
        assert!(std::mem::take(&mut page.token_requested));
        page.dispatch(|page| page.token_ready(Token::default()));
        page.close(1006);
        assert_eq!(page.timer, Some(max_wait / 2));
        assert_eq!(retry_delay(&page), Some(max_wait / 2));
        page.dispatch(|page| page.timer_fired(0.5));
        assert_eq!(retry_delay(&page), None, "an attempt is in progress");
    }
    page.accept("b-1");
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
}

#[test]
fn becoming_visible_ends_the_backoff() {
    let mut page = TestPage::connected();
    page.close(1006);
    page.dispatch(|page| page.resumed());
    assert!(page.token_requested);
    page.accept("b-1");
    page.clear();
    page.dispatch(|page| page.resumed());
    assert_eq!(page.effects, []);
}

#[test]
fn a_full_bridge_is_retried_after_a_long_backoff() {
    let mut page = TestPage::connected();
    page.close(1013);
    assert_eq!(retry_delay(&page), Some(45_000));
    page.dispatch(|page| page.resumed());
    assert!(
        !page.token_requested,
        "a visible tab does not end this backoff"
    );
    page.dispatch(|page| page.timer_fired(0.0));
    assert!(page.token_requested);
}

#[test]
fn a_refused_page_waits_for_the_time_in_the_reason() {
    for (reason, code) in [
        (
            "RealmLimitExceeded, retry in 2 s: no place",
            "RealmLimitExceeded",
        ),
        ("retry in 2 s: no place", Failure::CONNECTION_LOST),
    ] {
        let mut page = TestPage::new();
        page.dispatch(|page| page.connect());
        for wait in [3_000, 4_000, 6_000] {
            page.open();
            page.close_with(1013, reason);
            assert_eq!(retry_delay(&page), Some(wait), "{reason}");
            let Some(Status::Reconnecting { error, .. }) = page.statuses().pop() else {
                panic!("not reconnecting");
            };
            assert_eq!(error.code, code);
            assert!(error.message.contains("no place"), "{}", error.message);
            page.timer_fires(0.5);
        }
        page.accept("b-1");
        assert_eq!(page.statuses().last(), Some(&Status::Connected));
    }
}

#[test]
fn a_time_in_the_reason_applies_unless_the_close_is_final() {
    for code in [1011, 1012, 1013] {
        let mut page = TestPage::connected();
        page.close_with(code, "retry in 2 s: the bridge is full");
        assert_eq!(retry_delay(&page), Some(3_000), "{code}");
    }
    let mut page = TestPage::connected();
    page.close_with(1008, "retry in 2 s: no");
    assert_eq!(failure(&page).code, Failure::CONNECTION_CLOSED);
}

#[test]
fn after_the_close_of_a_restart_the_backoff_begins_again() {
    let mut page = TestPage::connected();
    for _ in 0..6 {
        page.break_and_retry();
        page.accept("b-1");
    }
    page.close(1012);
    assert_eq!(retry_delay(&page), Some(125));
    // A bridge that refuses pages while it stops is not asked in a tight loop.
    page.timer_fires(0.5);
    page.open();
    page.close(1012);
    assert_eq!(retry_delay(&page), Some(250));
}

fn heartbeat(sequence: u64) -> BridgeToPage<String> {
    BridgeToPage::Heartbeat {
        sequence,
        answers: 0,
    }
}

#[test]
fn a_silent_connection_is_abandoned() {
    let mut page = TestPage::connected();
    assert_eq!(page.timer, Some(50_000), "two heartbeats and ten seconds");
    page.pass_time(20_000);
    page.receive(heartbeat(7));
    assert_eq!(
        page.effects,
        [Effect::Send(PageToBridge::HeartbeatAck { sequence: 7 })],
        "the timer is set already"
    );
    page.now_ms -= 20_000;
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(20_000), "the remaining time");
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(2_000), "pending messages are processed");
    assert!(!page.effects.contains(&Effect::AbandonSocket));
    page.timer_fires(0.0);
    assert!(page.effects.contains(&Effect::AbandonSocket));
    assert_eq!(retry_delay(&page), Some(0));
}

#[test]
fn a_frozen_page_processes_queued_messages_before_it_abandons_the_socket() {
    let mut page = TestPage::connected();
    page.pass_time(600_000);
    page.timer_fires(0.0);
    page.receive(heartbeat(30));
    assert_eq!(page.sent, [PageToBridge::HeartbeatAck { sequence: 30 }]);
    page.timer_fires(0.0);
    assert!(!page.effects.contains(&Effect::AbandonSocket));
    assert_eq!(page.timer, Some(48_000));
}

#[test]
fn a_page_that_becomes_visible_checks_its_connection_at_once() {
    let mut page = TestPage::connected();
    page.dispatch(|page| page.resumed());
    assert_eq!(page.effects, []);
    page.pass_time(3_600_000);
    page.dispatch(|page| page.resumed());
    page.dispatch(|page| page.resumed());
    assert_eq!(page.effects, [Effect::SetTimer(2_000)]);
    page.timer_fires(0.0);
    assert!(page.effects.contains(&Effect::AbandonSocket));
}

#[test]
fn reconnects_to_a_flapping_bridge_are_rate_limited() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    let start_ms = page.now_ms;
    while page.now_ms < start_ms + 600_000 {
        if page.token_requested {
            page.accept("b-1");
            page.receive(heartbeat(1));
            page.close(1006);
        }
        page.timer_fires(0.1);
        page.dispatch(|page| page.resumed());
    }
    assert!(
        (180..=220).contains(&page.sockets_opened),
        "{}",
        page.sockets_opened
    );
}

#[test]
fn a_hidden_page_backs_off_longer() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    let mut longest_wait = |visible| {
        let visibility = PageVisibility {
            visible,
            ..PageVisibility::default()
        };
        page.dispatch(|page| page.visibility_changed(visibility));
        let waits = (0..12).map(|_| {
            page.dispatch(|page| page.token_ready(Token::default()));
            page.close(1006);
            let wait = page.timer;
            page.timer_fires(1.0);
            wait
        });
        waits.max().unwrap()
    };
    assert_eq!(longest_wait(false), Some(60_000 / 2));
    assert_eq!(longest_wait(true), Some(15_000 / 2));
}

/// A program has no origin, and is not a page that waits to be shown again.
#[test]
fn a_program_backs_off_like_a_visible_page() {
    let mut page = TestPage::without_origin();
    page.dispatch(|page| page.connect());
    let waits = (0..12).map(|_| {
        page.dispatch(|page| page.token_ready(Token::default()));
        page.close(1006);
        let wait = page.timer;
        page.timer_fires(1.0);
        wait
    });
    assert_eq!(waits.max().unwrap(), Some(15_000 / 2));
}

#[test]
fn an_attempt_times_out() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.dispatch(|page| page.token_ready(Token::default()));
    assert_eq!(page.timer, Some(60_000));
    page.timer_fires(1.0);
    page.timer_fires(1.0);
    assert_eq!(retry_delay(&page), Some(250));
}

#[test]
fn a_rejection_is_final_until_the_app_connects_again() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.open();
    page.receive(BridgeToPage::AuthenticationFailed {
        code: "InvalidAuthentication".into(),
        error: "the token is too short".into(),
    });
    assert_eq!(failure(&page).code, "InvalidAuthentication");
    assert_eq!(page.timer, None);
    page.close(1008);
    page.dispatch(|page| page.resumed());
    page.dispatch(|page| page.timer_fired(0.0));
    assert!(!page.token_requested);
    page.dispatch(|page| page.connect());
    assert_eq!(page.statuses().last(), Some(&Status::Connecting));
    page.accept("b-1");
}

#[test]
fn final_close_codes_are_not_retried() {
    for (code, error) in [
        (1003, "ConnectionClosed"),
        (1008, "ConnectionClosed"),
        (4001, "SessionSuperseded"),
    ] {
        let mut page = TestPage::connected();
        page.close(code);
        assert_eq!(failure(&page).code, error);
        assert_eq!(page.timer, None);
    }
}

#[test]
fn a_page_frozen_before_it_authenticated_reconnects() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.open();
    page.close(1008);
    assert!(retry_delay(&page).is_some());
}

#[test]
fn a_closed_session_is_final_but_a_stopping_bridge_is_retried() {
    let closed = |code: &str| BridgeToPage::SessionClosed {
        code: code.into(),
        reason: "why".into(),
    };
    let mut page = TestPage::connected();
    page.receive(closed("SessionExpired"));
    assert_eq!(failure(&page), Failure::new("SessionExpired", "why"));

    let mut page = TestPage::connected();
    page.receive(closed("BridgeStopping"));
    page.close(1012);
    assert_eq!(retry_delay(&page), Some(125));
}

#[test]
fn a_forbidden_address_is_not_retried() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.dispatch(|page| page.token_ready(Token::default()));
    page.dispatch(|page| page.socket_refused("insecure"));
    let failure = failure(&page);
    assert_eq!(failure.code, Failure::BRIDGE_URL_REFUSED);
    assert!(failure.message.contains("http://localhost:3001: insecure"));
}

#[test]
fn an_unsupported_protocol_version_is_reported() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.open();
    page.receive(BridgeToPage::Authenticated {
        protocol: 1,
        bridge_id: BridgeId::from(""),
        session_name: None,
        awaited: Vec::new(),
        now_ms: 0,
        token_expires_in_ms: None,
        limits: TEST_LIMITS,
    });
    assert_eq!(failure(&page).code, Failure::PROTOCOL_UNSUPPORTED);
}

#[test]
fn a_failed_token_function_is_retried() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.dispatch(|page| page.token_failed("HTTP 500", 1.0));
    let Some(Status::Reconnecting { error, .. }) = page.statuses().pop() else {
        panic!();
    };
    assert_eq!(error.code, Failure::TOKEN_FAILED);
    assert!(error.message.contains("HTTP 500"));
    page.token_requested = false;
    page.dispatch(|page| page.timer_fired(0.0));
    page.accept("b-1");
}

#[test]
fn disconnecting_closes_the_socket_and_stops_retries() {
    let mut page = TestPage::connected();
    page.dispatch(|page| page.disconnect());
    assert!(page.effects.contains(&Effect::CloseSocket));
    assert_eq!(page.statuses(), [Status::Disconnected]);
    page.close(1000);
    page.dispatch(|page| page.timer_fired(0.0));
    page.dispatch(|page| page.resumed());
    assert!(!page.token_requested);
    page.dispatch(|page| page.connect());
    page.accept("b-1");
}

#[test]
fn a_late_token_opens_no_socket() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.dispatch(|page| page.disconnect());
    page.dispatch(|page| page.token_ready(Token::default()));
    assert_eq!(page.sockets_opened, 0);
}

#[test]
fn visibility_focus_and_title_are_sent() {
    let visibility = |visible, focused, title: &str| PageVisibility {
        visible,
        focused,
        title: title.into(),
    };
    let mut page = TestPage::new();
    page.dispatch(|page| page.visibility_changed(visibility(true, true, "Board")));
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    let state = |visible, focused, page_title| PageToBridge::PageState {
        visible,
        focused,
        frozen: false,
        page_title,
    };
    assert_eq!(page.sent.last(), Some(&state(true, true, None)));
    page.clear();
    page.dispatch(|page| page.visibility_changed(visibility(true, true, "Board")));
    assert_eq!(page.sent, []);
    page.dispatch(|page| page.visibility_changed(visibility(false, false, "Board (2)")));
    assert_eq!(page.sent, [state(false, false, Some("Board (2)".into()))]);
    page.dispatch(|page| page.leaving());
    assert_eq!(page.sent.last(), Some(&leaving(&[])));
}

#[test]
fn connected_clients_are_unknown_without_a_connection() {
    let mut page = TestPage::connected();
    page.receive(BridgeToPage::Clients("[1]".into()));
    page.close(1006);
    let clients = |report: &Report<String>| match report {
        Report::Clients(clients) => Some(clients.clone()),
        _ => None,
    };
    let reported: Vec<_> = page.reports.iter().filter_map(clients).collect();
    assert_eq!(reported, [Some("[1]".into()), None]);
}

#[test]
fn a_page_in_the_bfcache_leaves_and_reconnects_when_shown() {
    let mut page = TestPage::connected();
    page.add_tool(1, "echo");
    page.flush();
    page.receive(tool_call("c1", "echo"));
    page.clear();
    page.dispatch(|page| page.entered_bfcache(0.5));
    assert_eq!(page.sent, [leaving(&[])]);
    assert!(page.effects.contains(&Effect::CloseSocket));
    assert!(page.reports.iter().any(|report| matches!(
        report,
        Report::CallEnded { call, outcome: CallEnd::Cancelled(_) } if call.as_str() == "c1"
    )));
    page.clear();
    page.dispatch(|page| page.resumed());
    page.accept("b-1");
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
    assert!(matches!(
        page.sent[..],
        [
            PageToBridge::Authenticate(_),
            PageToBridge::Register { .. },
            ..
        ]
    ));
}

#[test]
fn a_page_without_connection_enters_the_bfcache_silently() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.entered_bfcache(0.5));
    assert!(page.effects.is_empty());
}
