mod on_error;
mod targets;

use super::*;
use crate::action::{Find, Target};
use crate::node::Node;
use crate::refusal::TargetFacts;

fn action(kind: ActionKind, target: Option<Target>) -> Action {
    Action { kind, target }
}

fn by_ref(reference: &str) -> Option<Target> {
    Some(Target::Reference(reference.into()))
}

fn set_value(reference: &str) -> Action {
    action(ActionKind::SetValue, by_ref(reference))
}

fn click(reference: &str) -> Action {
    action(
        ActionKind::TriggerEvent {
            event: "onClick".into(),
        },
        by_ref(reference),
    )
}

fn scroll() -> Action {
    action(ActionKind::Scroll, None)
}

fn interaction(actions: Vec<Action>) -> Interaction {
    Interaction::new(actions, Limits::default(), false, 0.0)
}

fn continuing(actions: Vec<Action>) -> Interaction {
    interaction(actions).on_error(OnError::Continue)
}

fn facts() -> Event {
    Event::Inspected(Inspection::Facts(TargetFacts {
        label: "textbox \"A\"".into(),
        editable: true,
        ..TargetFacts::default()
    }))
}

/// Answers as a driver does when everything succeeds, until the list has ended.
fn run(interaction: &mut Interaction, mut answer: impl FnMut(&Step) -> Option<Event>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut event = Event::Started;
    let mut now = 0.0;
    for _ in 0..10_000 {
        let step = interaction.next(event, now);
        steps.push(step.clone());
        now += 1.0;
        event = answer(&step).unwrap_or_else(|| match &step {
            Step::Look { .. } => Event::Looked(Vec::new()),
            Step::FindFocus => Event::Focused(None),
            Step::Inspect { .. } => facts(),
            Step::Confirm { .. } => Event::Confirmed(true),
            Step::Apply { .. } => Event::Applied(Ok(())),
            Step::Rest { .. } => Event::Rested,
            Step::ReadBack { .. } => Event::Compared(Ok(None)),
            Step::End => Event::Ended(Outcome::default()),
            Step::AwaitChange { .. } => Event::Changed,
            Step::Done => Event::Started,
        });
        if step == Step::Done {
            return steps;
        }
    }
    panic!("the list has no end: {steps:?}");
}

fn codes(interaction: &Interaction) -> Vec<Option<ActionCode>> {
    let log = &interaction.report().log;
    log.iter()
        .map(|entry| entry.failure.as_ref().map(|it| it.code))
        .collect()
}

#[test]
fn actions_run_in_order() {
    let mut list = interaction(vec![set_value("e1"), set_value("e2"), click("e3")]);
    let steps = run(&mut list, |_| None);
    let applied: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Apply {
                index, reference, ..
            } => Some((*index, reference.clone().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(
        applied,
        [(0, "e1".into()), (1, "e2".into()), (2, "e3".into())]
    );
    let rests: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Rest { is_brief } => Some(*is_brief),
            _ => None,
        })
        .collect();
    assert_eq!(
        rests,
        [true, false, false],
        "only between two values one task suffices"
    );
    assert_eq!(codes(&list), [None, None, None]);
}

#[test]
fn a_navigation_ends_the_list() {
    let mut list = interaction(vec![click("e1"), click("e2"), click("e3")]);
    run(&mut list, |step| match step {
        Step::End => Some(Event::Ended(Outcome {
            navigated: Some("/details".into()),
            ..Outcome::default()
        })),
        _ => None,
    });
    let report = list.report();
    assert_eq!((report.log.len(), report.skipped), (1, 2));
    assert_eq!(report.navigated.as_deref(), Some("/details"));
}

#[test]
fn a_cancelled_list_stops_before_its_next_action() {
    let mut list = interaction(vec![click("e1"), click("e2")]);
    let mut event = Event::Started;
    for _ in 0..3 {
        event = match list.next(event, 0.0) {
            Step::Inspect { .. } => facts(),
            Step::Apply { .. } => Event::Applied(Ok(())),
            _ => Event::Rested,
        };
    }
    list.cancel();
    assert_eq!(list.next(event, 1.0), Step::End);
    assert_eq!(list.next(Event::Ended(Outcome::default()), 2.0), Step::Done);
    assert_eq!(list.report().stopped, Some(Stopped::Cancelled));
    assert_eq!(list.report().skipped, 1);
}

#[test]
fn an_action_is_limited_to_thirty_seconds_and_a_call_to_two_minutes() {
    let mut list = continuing(vec![click("e1"); 5]);
    let mut event = Event::Started;
    let mut now = 0.0;
    loop {
        match list.next(event, now) {
            Step::Inspect { .. } => event = facts(),
            Step::Apply { .. } => {
                assert_eq!(list.deadline(), now + 30_000.0);
                now = list.deadline();
                event = Event::TimedOut;
            }
            Step::End => event = Event::Ended(Outcome::default()),
            Step::Done => break,
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(codes(&list), [Some(ActionCode::ActionTimeout); 4]);
    assert_eq!(list.report().stopped, Some(Stopped::TimedOut));
    assert_eq!(list.report().skipped, 1);
}

#[test]
fn a_list_ends_before_an_action_when_the_person_does_not_answer() {
    let mut list = interaction(vec![click("e1"), click("e2"), click("e3")]);
    list.next(Event::Started, 0.0);
    list.next(facts(), 0.0);
    list.next(Event::Applied(Ok(())), 1.0);
    list.next(Event::Rested, 2.0);
    let step = list.next(Event::Ended(Outcome::default()), 3.0);
    assert!(matches!(step, Step::Inspect { index: 1, .. }), "{step:?}");
    assert_eq!(list.next(Event::PersonAsked, 4.0), Step::Done);
    assert_eq!(codes(&list), [None, Some(ActionCode::PersonAsked)]);
    let report = list.report();
    assert_eq!(report.stopped, Some(Stopped::PersonAsked));
    assert_eq!(report.skipped, 1);
    let mut text = String::new();
    report.write(&mut text);
    assert!(
        text.ends_with("stopped for the person, 1 action skipped\n"),
        "{text}"
    );
}

#[test]
fn the_end_of_an_action_is_not_skipped() {
    let mut list = interaction(vec![click("e1")]);
    list.next(Event::Started, 0.0);
    list.next(facts(), 0.0);
    assert_eq!(list.next(Event::TimedOut, 30_000.0), Step::End);
    assert_eq!(list.next(Event::TimedOut, 30_001.0), Step::End);
    assert_eq!(
        list.next(Event::Ended(Outcome::default()), 30_002.0),
        Step::Done
    );
    assert_eq!(list.report().log.len(), 1);
}

#[test]
fn a_value_that_cannot_be_read_back_is_a_failure() {
    let mut list = interaction(vec![set_value("e1")]);
    run(&mut list, |step| match step {
        Step::ReadBack { .. } => Some(Event::Compared(Err(Failure::stale("e1")))),
        _ => None,
    });
    let failure = list.report().log[0].failure.clone().unwrap();
    assert_eq!(failure.code, ActionCode::TargetStale);
}

#[test]
fn a_value_that_the_page_changes_fails_with_both_values() {
    let mut list = interaction(vec![set_value("e1")]);
    run(&mut list, |step| match step {
        Step::ReadBack { .. } => Some(Event::Compared(Ok(Some(ReadBack {
            expected: "abc".into(),
            actual: "ABC".into(),
            matches: false,
        })))),
        _ => None,
    });
    let failure = list.report().log[0].failure.clone().unwrap();
    assert_eq!(failure.code, ActionCode::ValueRefused);
    assert!(
        failure
            .message
            .contains("\"abc\" was set, and the page made it \"ABC\"")
    );
}

#[test]
fn the_app_may_decline() {
    let mut list = Interaction::new(vec![click("e1"), scroll()], Limits::default(), true, 0.0)
        .on_error(OnError::Continue);
    let steps = run(&mut list, |step| match step {
        Step::Confirm { index: 0, .. } => Some(Event::Confirmed(false)),
        _ => None,
    });
    assert_eq!(codes(&list), [Some(ActionCode::Declined), None]);
    assert!(steps.contains(&Step::Confirm {
        index: 1,
        reference: None,
        to: None
    }));
}

fn wait_for(text: Option<&str>, gone: Option<&str>, ms: f64) -> Action {
    action(
        ActionKind::WaitFor {
            text: text.map(Into::into),
            gone: gone.map(Into::into),
            ms,
        },
        None,
    )
}

#[test]
fn a_wait_ends_when_the_text_appears() {
    let mut list = interaction(vec![wait_for(Some("Saved"), Some("Saving"), 10_000.0)]);
    let mut looks = 0;
    run(&mut list, |step| match step {
        Step::Look { .. } => {
            looks += 1;
            let texts = ["Saving", "Saving Saved", "Saved"];
            Some(Event::Looked(vec![Node::new_text(texts[looks - 1])]))
        }
        _ => None,
    });
    assert_eq!((looks, codes(&list)), (3, vec![None]));
}

#[test]
fn a_wait_is_limited() {
    let mut list = continuing(vec![
        wait_for(Some("Saved"), None, 5.0),
        wait_for(None, None, 3.0),
    ]);
    run(&mut list, |_| None);
    assert_eq!(codes(&list), [Some(ActionCode::ActionTimeout), None]);
    let message = &list.report().log[0].failure.as_ref().unwrap().message;
    assert!(
        message.starts_with("\"Saved\" is not on the page after "),
        "{message}"
    );
}

#[test]
fn a_cancel_ends_a_wait() {
    let mut list = interaction(vec![wait_for(None, None, 10_000.0), scroll()]);
    assert_eq!(
        list.next(Event::Started, 0.0),
        Step::AwaitChange { ms: 10_000.0 }
    );
    list.cancel();
    assert_eq!(list.next(Event::Changed, 1.0), Step::Done);
    assert_eq!(list.report().skipped, 1);
}

#[test]
fn the_next_document_gets_the_action_that_ended_this_one() {
    let mut list = interaction(vec![scroll(), click("e1"), scroll(), scroll()]);
    list.next(Event::Started, 0.0);
    list.next(Event::Applied(Ok(())), 0.0);
    list.next(Event::Rested, 0.0);
    let step = list.next(Event::Ended(Outcome::default()), 0.0);
    assert!(matches!(step, Step::Inspect { index: 1, .. }));
    let before = list.report_if_document_ends();
    assert_eq!((before.log.len(), before.skipped), (1, 3));
    assert!(matches!(list.next(facts(), 0.0), Step::Apply { .. }));
    let report = list.report_if_document_ends();
    assert_eq!((report.log.len(), report.skipped), (2, 2));
    assert_eq!(report.log[1].detail.as_deref(), Some("onClick"));
}

#[test]
fn a_wait_ends_with_the_time_limit_of_its_action_and_of_its_call() {
    let limits = Limits {
        action_timeout_ms: 300.0,
        call_timeout_ms: 500.0,
        ..Limits::default()
    };
    let waits = vec![
        wait_for(Some("nowhere"), None, 1000.0),
        wait_for(None, None, 290.0),
    ];
    let mut list = Interaction::new(waits, limits, false, 0.0).on_error(OnError::Continue);
    let mut event = Event::Started;
    let mut now = 0.0;
    let mut waited = Vec::new();
    loop {
        event = match list.next(event, now) {
            Step::Look { .. } => Event::Looked(Vec::new()),
            Step::AwaitChange { ms } => {
                waited.push(ms);
                now += ms;
                Event::Changed
            }
            Step::Done => break,
            step => panic!("{step:?}"),
        };
    }
    assert_eq!(waited, [300.0, 200.0]);
    assert_eq!(codes(&list), [Some(ActionCode::ActionTimeout); 2]);
}
