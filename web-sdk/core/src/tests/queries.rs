//! Queries: the JavaScript module handles their messages, and the page only forwards them.

use super::*;

fn send_query(page: &mut TestPage, message: &str) -> bool {
    let mut sent = false;
    page.dispatch(|page| sent = page.query(message.to_owned()));
    sent
}

#[test]
fn a_query_without_a_connection_is_reported_as_not_sent() {
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
    let report = |message: &str| Report::Query(message.to_owned());
    assert_eq!(page.reports, [report("accepted"), report("complete")]);
}

#[test]
fn the_message_limit_is_reported_before_the_connected_status() {
    let mut page = TestPage::new();
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    let index_of = |report: &Report<String>| page.reports.iter().position(|other| other == report);
    let accepted = index_of(&Report::SessionAccepted {
        session_name: None,
        max_message_bytes: TEST_LIMITS.max_message_bytes,
    });
    assert!(accepted.is_some() && accepted < index_of(&Report::Status(Status::Connected)));
}

#[test]
fn definitions_of_the_same_task_are_sent_before_a_query() {
    let mut page = TestPage::new();
    page.add_tool(1, "echo");
    page.dispatch(|page| page.connect());
    page.accept("b-1");
    assert!(send_query(&mut page, "{}"));
    let index_of = |predicate: fn(&Message) -> bool| page.sent.iter().position(predicate);
    let registered = index_of(|message| matches!(message, PageToBridge::Register { .. }));
    let queried = index_of(|message| matches!(message, PageToBridge::Query(_)));
    assert!(registered.is_some() && registered < queried);
}
