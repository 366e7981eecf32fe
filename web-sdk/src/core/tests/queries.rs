//! Queries: the module writes and reads their messages, the page only carries them.

use super::*;

fn send_query(page: &mut TestPage, message: &str) -> bool {
    let mut told = false;
    page.dispatch(|page| told = page.query(message.to_owned()));
    told
}

#[test]
fn without_a_connection_a_query_is_not_sent_and_reported_so() {
    let mut page = TestPage::new();
    assert!(!send_query(&mut page, "{}"));
    page.dispatch(|page| page.connect());
    assert!(!send_query(&mut page, "{}"));
    page.accept("b-1");
    page.clear();
    assert!(send_query(&mut page, "{1}"));
    assert_eq!(page.sent, [PageToBridge::Query("{1}".to_owned())]);
    page.close(1006);
    assert!(!send_query(&mut page, "{2}"));
    assert_eq!(page.sent.len(), 1);
}

#[test]
fn query_messages_reach_the_module_in_order() {
    let mut page = TestPage::connected();
    for message in ["accepted", "complete"] {
        page.receive(BridgeToPage::Query(message.to_owned()));
    }
    let said = |message: &str| Report::Query(message.to_owned());
    assert_eq!(page.reports, [said("accepted"), said("complete")]);
}

#[test]
fn the_module_knows_how_large_a_message_may_be_before_it_is_connected() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    let place = |wanted: &Report<String>| page.reports.iter().position(|report| report == wanted);
    let welcomed = place(&Report::SessionAccepted {
        session_name: None,
        max_message_bytes: TEST_LIMITS.max_message_bytes,
    });
    assert!(welcomed.is_some() && welcomed < place(&Report::Status(Status::Connected)));
}

#[test]
fn definitions_of_the_same_task_are_sent_before_a_query() {
    let mut page = TestPage::new();
    page.add_tool(1, "echo");
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    assert!(send_query(&mut page, "{}"));
    let register = |message: &Message| matches!(message, PageToBridge::Register { .. });
    let registered = page.sent.iter().position(register);
    let asked = page
        .sent
        .iter()
        .position(|it| *it == PageToBridge::Query("{}".to_owned()));
    assert!(registered.is_some() && registered < asked);
}
