//! Queries: the module writes and reads their messages, the page only carries them.

use super::*;

fn ask(page: &mut TestPage, message: &str) -> bool {
    let mut told = false;
    page.tell(|page| told = page.query(message.to_owned()));
    told
}

#[test]
fn without_a_connection_nothing_goes_out_and_the_module_knows() {
    let mut page = TestPage::new();
    assert!(!ask(&mut page, "{}"));
    page.tell(|page| page.connect());
    assert!(!ask(&mut page, "{}"));
    page.accept("b-1");
    page.forget();
    assert!(ask(&mut page, "{1}"));
    assert_eq!(page.sent, [PageToBridge::Query("{1}".to_owned())]);
    page.close(1006);
    assert!(!ask(&mut page, "{2}"));
    assert_eq!(page.sent.len(), 1);
}

#[test]
fn what_the_bridge_says_reaches_the_module_in_order() {
    let mut page = TestPage::connected();
    for message in ["accepted", "complete"] {
        page.hear(BridgeToPage::Query(message.to_owned()));
    }
    let said = |message: &str| Report::Query(message.to_owned());
    assert_eq!(page.reports, [said("accepted"), said("complete")]);
}

#[test]
fn the_module_knows_how_large_a_message_may_be_before_it_is_connected() {
    let mut page = TestPage::new();
    page.tell(|page| page.connect());
    page.accept("b-1");
    let place = |wanted: &Report<String>| page.reports.iter().position(|report| report == wanted);
    let welcomed = place(&Report::Welcomed {
        session_name: None,
        max_message_bytes: LIMITS.max_message_bytes,
    });
    assert!(welcomed.is_some() && welcomed < place(&Report::Status(Status::Connected)));
}

#[test]
fn what_was_registered_in_the_same_task_goes_before_what_is_asked_once_connected() {
    let mut page = TestPage::new();
    page.add_tool(1, "echo");
    page.tell(|page| page.connect());
    page.accept("b-1");
    assert!(ask(&mut page, "{}"));
    let register = |message: &Message| matches!(message, PageToBridge::Register { .. });
    let registered = page.sent.iter().position(register);
    let asked = page
        .sent
        .iter()
        .position(|it| *it == PageToBridge::Query("{}".to_owned()));
    assert!(registered.is_some() && registered < asked);
}
