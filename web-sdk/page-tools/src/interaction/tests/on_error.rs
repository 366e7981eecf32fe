//! Tests of the actions after a failed action.

use super::*;

fn text_of(report: &Report) -> String {
    let mut text = String::new();
    report.write(&mut text);
    text
}

/// Refuses the value of the first action, and lets all others succeed.
fn refuse_first(list: &mut Interaction) -> Vec<Step> {
    run(list, |step| match step {
        Step::ReadBack { index: 0, .. } => Some(Event::Compared(Ok(Some(ReadBack {
            expected: "2 March 2027".into(),
            actual: String::new(),
            matches: false,
        })))),
        _ => None,
    })
}

fn has_begun(steps: &[Step], action: usize) -> bool {
    let begins = |step: &Step| match step {
        Step::Inspect { index, .. } | Step::Apply { index, .. } => *index == action,
        _ => false,
    };
    steps.iter().any(begins)
}

#[test]
fn a_list_stops_at_the_first_action_that_failed() {
    let mut list = interaction(vec![set_value("e1"), click("e2"), click("e3")]);
    let steps = refuse_first(&mut list);
    assert!(!has_begun(&steps, 1) && !has_begun(&steps, 2), "{steps:?}");
    assert_eq!(codes(&list), [Some(ActionCode::ValueRefused)]);
    let report = list.report();
    assert_eq!(report.stopped, Some(Stopped::ActionFailed));
    assert_eq!((report.skipped, report.failures()), (2, 1));
    let text = text_of(report);
    let end = "stopped because action 1 failed, 2 actions skipped: nothing after it was done; look at the page, then call again with the rest\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn a_list_stops_at_an_action_that_did_not_begin() {
    let mut list = interaction(vec![click("e1"), click("e2")]);
    let steps = run(&mut list, |step| match step {
        Step::Inspect { index: 0, .. } => Some(Event::Inspected(Inspection::Stale)),
        _ => None,
    });
    assert!(!has_begun(&steps, 1), "{steps:?}");
    assert_eq!(list.report().stopped, Some(Stopped::ActionFailed));
    assert_eq!(list.report().skipped, 1);
}

#[test]
fn a_list_continues_after_a_failed_action_on_request() {
    let mut list = continuing(vec![set_value("e1"), click("e2"), click("e3")]);
    let steps = refuse_first(&mut list);
    assert!(has_begun(&steps, 1) && has_begun(&steps, 2), "{steps:?}");
    assert_eq!(codes(&list), [Some(ActionCode::ValueRefused), None, None]);
    let report = list.report();
    assert_eq!((report.stopped, report.skipped), (None, 0));
    assert_eq!(report.failures(), 1);
}

#[test]
fn a_list_whose_last_action_failed_has_nothing_to_stop() {
    let mut list = interaction(vec![set_value("e1")]);
    refuse_first(&mut list);
    let report = list.report();
    assert_eq!((report.stopped, report.skipped), (None, 0));
    assert_eq!(report.failures(), 1);
}

#[test]
fn the_next_document_gets_the_failed_action_and_the_number_not_run() {
    for (list, skipped) in [(interaction as fn(_) -> _, 2), (continuing, 0)] {
        let mut list = list(vec![set_value("e1"), click("e2"), click("e3")]);
        refuse_first(&mut list);
        let state = list.report_if_document_ends().to_value();
        let resumed = Report::from_value(&state, "/next".into());
        assert_eq!((resumed.failures(), resumed.skipped), (1, skipped));
        let text = text_of(&resumed);
        assert!(text.contains("went to \"/next\"\n"), "{text}");
        let is_stopped = text.contains("stopped because action 1 failed, 2 actions skipped");
        assert_eq!(is_stopped, skipped == 2, "{text}");
    }
}
