//! How a connection begins, breaks, comes back, and ends for good.

use super::*;

fn reconnecting(page: &TestPage) -> Option<u32> {
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
fn the_first_frame_says_who_the_page_is() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    assert_eq!(page.statuses(), [Status::Connecting]);
    page.open();
    let [PageToBridge::Authenticate(first)] = &page.sent[..] else {
        panic!("{:?}", page.sent);
    };
    assert_eq!(first.auth_token, Token("0123456789abcdef".into()));
    assert_eq!(first.session_id, Some(SessionId::from("tab-1")));
    assert_eq!(page.timer, Some(10_000), "the bridge must answer by then");
    page.hear(authenticated("b-1"));
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
}

#[test]
fn connecting_twice_is_connecting_once() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.tell(|page| page.connect());
    page.accept("b-1");
    page.tell(|page| page.connect());
    assert_eq!(page.sockets, 1);
}

#[test]
fn a_missing_bridge_is_tried_again_with_growing_waits() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    for ceiling in [250, 500, 1000, 2000] {
        assert!(std::mem::take(&mut page.token_wanted));
        page.tell(|page| page.token_ready(Token::default()));
        page.close(1006);
        assert_eq!(page.timer, Some(ceiling / 2));
        assert_eq!(reconnecting(&page), Some(ceiling / 2));
        page.tell(|page| page.timer_fired(0.5));
        assert_eq!(reconnecting(&page), None, "an attempt is under way");
    }
    page.accept("b-1");
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
}

#[test]
fn a_visible_tab_does_not_wait() {
    let mut page = TestPage::connected();
    page.close(1006);
    page.tell(|page| page.woken());
    assert!(page.token_wanted);
    page.accept("b-1");
    page.forget();
    page.tell(|page| page.woken());
    assert_eq!(page.all, []);
}

#[test]
fn a_full_bridge_is_left_alone_for_a_while() {
    let mut page = TestPage::connected();
    page.close(1013);
    assert_eq!(reconnecting(&page), Some(37_500));
    page.tell(|page| page.woken());
    assert!(!page.token_wanted, "waking up does not make room");
    page.tell(|page| page.timer_fired(0.0));
    assert!(page.token_wanted);
}

fn heartbeat(sequence: u64) -> BridgeToPage<String> {
    BridgeToPage::Heartbeat {
        sequence,
        answers: 0,
    }
}

#[test]
fn a_silent_bridge_is_a_lost_bridge() {
    let mut page = TestPage::connected();
    assert_eq!(page.timer, Some(50_000), "two heartbeats and ten seconds");
    page.wait(20_000);
    page.hear(heartbeat(7));
    assert_eq!(
        page.all,
        [Effect::Send(PageToBridge::HeartbeatAck { sequence: 7 })],
        "the timer is set already"
    );
    page.now_ms -= 20_000;
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(20_000), "the rest");
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(2_000), "the last chance");
    assert!(!page.all.contains(&Effect::AbandonSocket));
    page.timer_fires(0.0);
    assert!(page.all.contains(&Effect::AbandonSocket));
    assert_eq!(reconnecting(&page), Some(0));
}

#[test]
fn a_page_that_stood_still_hears_what_waits_before_it_gives_up() {
    let mut page = TestPage::connected();
    page.wait(600_000);
    page.timer_fires(0.0);
    page.hear(heartbeat(30));
    assert_eq!(page.sent, [PageToBridge::HeartbeatAck { sequence: 30 }]);
    page.timer_fires(0.0);
    assert!(!page.all.contains(&Effect::AbandonSocket));
    assert_eq!(page.timer, Some(48_000));
}

#[test]
fn a_page_that_is_seen_again_looks_at_its_connection_at_once() {
    let mut page = TestPage::connected();
    page.tell(|page| page.woken());
    assert_eq!(page.all, []);
    page.wait(3_600_000);
    page.tell(|page| page.woken());
    page.tell(|page| page.woken());
    assert_eq!(page.all, [Effect::SetTimer(2_000)]);
    page.timer_fires(0.0);
    assert!(page.all.contains(&Effect::AbandonSocket));
}

#[test]
fn a_bridge_that_flaps_is_not_called_without_end() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    let began = page.now_ms;
    while page.now_ms < began + 600_000 {
        if page.token_wanted {
            page.accept("b-1");
            page.hear(heartbeat(1));
            page.close(1006);
        }
        page.timer_fires(0.1);
        page.tell(|page| page.woken());
    }
    assert!((180..=220).contains(&page.sockets), "{}", page.sockets);
}

#[test]
fn a_page_that_is_not_seen_waits_longer() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    let mut longest_wait = |visible| {
        let sight = Sight {
            visible,
            ..Sight::default()
        };
        page.tell(|page| page.sight_changed(sight));
        let waits = (0..12).map(|_| {
            page.tell(|page| page.token_ready(Token::default()));
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

#[test]
fn an_attempt_has_a_time_limit() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.tell(|page| page.token_ready(Token::default()));
    assert_eq!(page.timer, Some(60_000));
    page.timer_fires(1.0);
    page.timer_fires(1.0);
    assert_eq!(reconnecting(&page), Some(250));
}

#[test]
fn a_refusal_is_final_until_the_app_connects_again() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.open();
    page.hear(BridgeToPage::AuthenticationFailed {
        code: "InvalidAuthentication".into(),
        error: "the token is too short".into(),
    });
    assert_eq!(failure(&page).code, "InvalidAuthentication");
    assert_eq!(page.timer, None);
    page.close(1008);
    page.tell(|page| page.woken());
    page.tell(|page| page.timer_fired(0.0));
    assert!(!page.token_wanted);
    page.tell(|page| page.connect());
    assert_eq!(page.statuses().last(), Some(&Status::Connecting));
    page.accept("b-1");
}

#[test]
fn final_closes_are_final() {
    for (code, word) in [
        (1003, "ConnectionClosed"),
        (1008, "ConnectionClosed"),
        (4001, "SessionSuperseded"),
    ] {
        let mut page = TestPage::connected();
        page.close(code);
        assert_eq!(failure(&page).code, word);
        assert_eq!(page.timer, None);
    }
}

#[test]
fn a_page_that_stood_still_before_it_introduced_itself_comes_back() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.open();
    page.close(1008);
    assert!(reconnecting(&page).is_some());
}

#[test]
fn a_closed_session_is_over_but_a_stopping_bridge_comes_back() {
    let closed = |code: &str| BridgeToPage::SessionClosed {
        code: code.into(),
        reason: "why".into(),
    };
    let mut page = TestPage::connected();
    page.hear(closed("SessionExpired"));
    assert_eq!(failure(&page), Failure::new("SessionExpired", "why"));

    let mut page = TestPage::connected();
    page.hear(closed("BridgeStopping"));
    page.close(1012);
    assert_eq!(reconnecting(&page), Some(125));
}

#[test]
fn an_address_the_browser_forbids_is_final() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.tell(|page| page.token_ready(Token::default()));
    page.tell(|page| page.socket_refused("insecure"));
    let failure = failure(&page);
    assert_eq!(failure.code, Failure::BRIDGE_URL_REFUSED);
    assert!(failure.message.contains("http://localhost:3001: insecure"));
}

#[test]
fn a_bridge_of_another_dialect_is_named() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.open();
    page.hear(BridgeToPage::Authenticated {
        protocol: 1,
        bridge_id: BridgeId::from(""),
        session_name: None,
        awaited: Vec::new(),
        now_ms: 0,
        token_expires_in_ms: None,
        limits: LIMITS,
    });
    assert_eq!(failure(&page).code, Failure::PROTOCOL_UNSUPPORTED);
}

#[test]
fn a_token_function_that_fails_is_asked_again() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.tell(|page| page.token_failed("HTTP 500", 1.0));
    let Some(Status::Reconnecting { error, .. }) = page.statuses().pop() else {
        panic!();
    };
    assert_eq!(error.code, Failure::TOKEN_FAILED);
    assert!(error.message.contains("HTTP 500"));
    page.token_wanted = false;
    page.tell(|page| page.timer_fired(0.0));
    page.accept("b-1");
}

#[test]
fn disconnecting_ends_everything() {
    let mut page = TestPage::connected();
    page.tell(|page| page.disconnect());
    assert!(page.all.contains(&Effect::CloseSocket));
    assert_eq!(page.statuses(), [Status::Disconnected]);
    page.close(1000);
    page.tell(|page| page.timer_fired(0.0));
    page.tell(|page| page.woken());
    assert!(!page.token_wanted);
    page.tell(|page| page.connect());
    page.accept("b-1");
}

#[test]
fn a_token_that_comes_too_late_opens_nothing() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.tell(|page| page.disconnect());
    page.tell(|page| page.token_ready(Token::default()));
    assert_eq!(page.sockets, 0);
}

#[test]
fn the_bridge_hears_what_the_user_sees() {
    let sight = |visible, focused, title: &str| Sight {
        visible,
        focused,
        title: title.into(),
    };
    let mut page = TestPage::new();
    page.tell(|page| page.sight_changed(sight(true, true, "Board")));
    page.tell(|page| page.connect());
    page.accept("b-1");
    let state = |visible, focused, page_title| PageToBridge::PageState {
        visible,
        focused,
        frozen: false,
        page_title,
    };
    assert_eq!(page.sent.last(), Some(&state(true, true, None)));
    page.forget();
    page.tell(|page| page.sight_changed(sight(true, true, "Board")));
    assert_eq!(page.sent, []);
    page.tell(|page| page.sight_changed(sight(false, false, "Board (2)")));
    assert_eq!(page.sent, [state(false, false, Some("Board (2)".into()))]);
    page.tell(|page| page.leaving());
    assert_eq!(page.sent.last(), Some(&PageToBridge::Leaving));
}

#[test]
fn connected_clients_are_unknown_without_a_connection() {
    let mut page = TestPage::connected();
    page.hear(BridgeToPage::Clients("[1]".into()));
    page.close(1006);
    let clients = |report: &Report<String>| match report {
        Report::Clients(clients) => Some(clients.clone()),
        _ => None,
    };
    let told: Vec<_> = page.reports.iter().filter_map(clients).collect();
    assert_eq!(told, [Some("[1]".into()), None]);
}

#[test]
fn a_page_that_is_put_aside_leaves_and_is_back_when_it_is_shown() {
    let mut page = TestPage::connected();
    page.add_tool(1, "echo");
    page.flush();
    page.hear(tool_call("c1", "echo"));
    page.forget();
    page.tell(|page| page.put_aside(0.5));
    assert_eq!(page.sent, [PageToBridge::Leaving]);
    assert!(page.all.contains(&Effect::CloseSocket));
    assert!(page.reports.iter().any(|report| matches!(
        report,
        Report::CallEnded { call, ending: Ending::Cancelled(_) } if call.as_str() == "c1"
    )));
    page.forget();
    page.tell(|page| page.woken());
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
fn a_page_without_connection_is_put_aside_without_a_word() {
    let mut page = TestPage::new();
    page.tell(|page| page.put_aside(0.5));
    assert!(page.all.is_empty());
}
