//! Renewal of the token on the open socket, and reconnecting after it has expired.

use super::*;

/// Returns an `authenticated` whose token expires in this time.
fn expiring(in_ms: u64) -> BridgeToPage<String> {
    let mut message = authenticated("b-1");
    if let BridgeToPage::Authenticated {
        token_expires_in_ms,
        ..
    } = &mut message
    {
        *token_expires_in_ms = Some(in_ms);
    }
    message
}

/// Creates a page whose token expires in a minute.
fn page(renewable: bool) -> TestPage {
    let mut page = TestPage::with_token_source(renewable);
    page.dispatch(|page| page.connect());
    page.accept_with(expiring(60_000));
    page.clear();
    page
}

fn fresh_token() -> Token {
    Token("a fresh token of a kind".into())
}

fn warnings(page: &TestPage) -> usize {
    let warnings = page.reports.iter();
    warnings
        .filter(|report| matches!(report, Report::Warning(_)))
        .count()
}

/// Delivers heartbeats until the page fetches a token. Returns the time that passed in
/// milliseconds.
fn time_to_renewal(page: &mut TestPage) -> u64 {
    let start_ms = page.now_ms;
    while !page.token_requested {
        page.timer_fires(0.5);
        page.receive(BridgeToPage::Heartbeat {
            sequence: 1,
            answers: 0,
        });
    }
    page.token_requested = false;
    page.now_ms - start_ms
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    let mut page = page(true);
    assert_eq!(time_to_renewal(&mut page), 48_000);
    page.clear();
    page.dispatch(|page| page.token_ready(fresh_token()));
    assert_eq!(page.sent, [PageToBridge::Renew(fresh_token())]);
    page.receive(BridgeToPage::Renewed {
        token_expires_in_ms: Some(100_000),
    });
    assert_eq!(time_to_renewal(&mut page), 80_000);
    page.dispatch(|page| page.token_ready(fresh_token()));
    page.receive(BridgeToPage::Renewed {
        token_expires_in_ms: None,
    });
    page.clear();
    page.dispatch(|page| page.token_ready(fresh_token()));
    assert_eq!(page.sent, [], "no token was requested");
    assert_eq!(page.statuses(), []);
}

#[test]
fn a_failed_renewal_is_retried() {
    let mut page = page(true);
    time_to_renewal(&mut page);
    page.dispatch(|page| page.token_failed("HTTP 500", 0.5));
    assert_eq!(time_to_renewal(&mut page), 10_000);
    page.dispatch(|page| page.token_ready(fresh_token()));
    page.receive(BridgeToPage::RenewalFailed {
        code: "InvalidAuthentication".into(),
        error: "it names another realm".into(),
    });
    assert_eq!(warnings(&page), 2);
    assert_eq!(time_to_renewal(&mut page), 10_000);
    assert_eq!(page.statuses(), [], "the connection stays open");
}

#[test]
fn a_fixed_token_is_not_renewed() {
    let mut page = page(false);
    for _ in 0..10 {
        page.timer_fires(0.5);
        page.receive(BridgeToPage::Heartbeat {
            sequence: 1,
            answers: 0,
        });
    }
    assert!(!page.token_requested);
}

#[test]
fn silence_and_renewal_share_the_timer() {
    let mut page = page(true);
    assert_eq!(page.timer, Some(48_000));
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(2_000), "the connection is silent");
    page.timer_fires(0.0);
    page.timer_fires(0.0);
    assert!(page.effects.contains(&Effect::AbandonSocket));
    page.token_requested = false;
    page.timer_fires(0.0);
    page.accept_with(expiring(10_000));
    assert_eq!(page.timer, Some(5_000), "the renewal of the new token");
}

#[test]
fn a_page_reconnects_with_a_fresh_token_after_expiry() {
    let mut page = page(true);
    page.add_tool(1, "echo");
    page.flush();
    page.receive(tool_call("c1", "echo"));
    page.receive(BridgeToPage::SessionClosed {
        code: "TokenExpired".into(),
        reason: "the token has expired".into(),
    });
    page.close(4003);
    let Some(Status::Reconnecting { error, .. }) = page.statuses().pop() else {
        panic!("{:?}", page.statuses());
    };
    assert_eq!(error.code, "TokenExpired");
    page.timer_fires(0.0);
    page.accept_with(authenticated_awaiting(&["c1"]));
    page.finish("c1", returned("1"));
    assert_eq!(page.sent.last(), Some(&response("c1", "1")));
}

#[test]
fn token_expiry_does_not_count_as_a_failed_attempt() {
    let mut page = page(true);
    for _ in 0..5 {
        page.close(4003);
        assert_eq!(page.timer, Some(125));
        page.timer_fires(0.0);
        page.accept_with(expiring(60_000));
    }
}

#[test]
fn a_token_rejected_as_expired_is_fetched_again() {
    let mut page = TestPage::with_token_source(true);
    page.dispatch(|page| page.connect());
    page.open();
    page.receive(BridgeToPage::AuthenticationFailed {
        code: "TokenExpired".into(),
        error: "the token has expired".into(),
    });
    page.close(1008);
    page.timer_fires(0.0);
    page.accept("b-1");
    assert_eq!(page.statuses().last(), Some(&Status::Connected));
}

#[test]
fn expiry_of_a_fixed_token_is_final() {
    let closed = BridgeToPage::SessionClosed {
        code: "TokenExpired".into(),
        reason: "the token has expired".into(),
    };
    for message in [Some(closed), None] {
        let mut page = page(false);
        if let Some(message) = message {
            page.receive(message);
        }
        page.close(4003);
        let [Status::Failed(failure)] = &page.statuses()[..] else {
            panic!("{:?}", page.statuses());
        };
        assert_eq!(failure.code, "TokenExpired");
        assert!(failure.message.contains("a function that fetches one"));
        assert_eq!(page.timer, None);
    }
}
