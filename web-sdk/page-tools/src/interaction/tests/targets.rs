//! Tests of the targets of actions: how they are found, awaited and refused.

use super::*;

#[test]
fn nothing_is_applied_to_a_target_that_is_refused() {
    let mut list = continuing(vec![click("e1"), click("e2"), click("e3")]);
    let steps = run(&mut list, |step| match step {
        Step::Inspect { index: 0, .. } => Some(Event::Inspected(Inspection::Facts(TargetFacts {
            disabled: Some("disabled".into()),
            ..TargetFacts::default()
        }))),
        Step::Inspect { index: 1, .. } => Some(Event::Inspected(Inspection::Stale)),
        Step::Inspect { index: 2, .. } => Some(Event::Inspected(Inspection::Unknown)),
        _ => None,
    });
    assert!(
        !steps
            .iter()
            .any(|step| matches!(step, Step::Apply { .. } | Step::End))
    );
    assert_eq!(
        codes(&list),
        [
            ActionCode::TargetDisabled,
            ActionCode::TargetStale,
            ActionCode::TargetNotFound
        ]
        .map(Some)
    );
}

#[test]
fn a_target_is_found_by_its_properties() {
    let find = Target::Find(Find {
        name: Some("Save".into()),
        ..Find::default()
    });
    let mut list = interaction(vec![
        action(ActionKind::Hover, Some(find.clone())),
        action(ActionKind::Drag { to: find }, by_ref("e1")),
    ]);
    let node = Node {
        name: Some("Save".into()),
        reference: Some("e7".into()),
        ..Node::new("button")
    };
    let steps = run(&mut list, |step| match step {
        Step::Look { .. } => Some(Event::Looked(vec![node.clone()])),
        _ => None,
    });
    assert!(steps.contains(&Step::Apply {
        index: 0,
        reference: Some("e7".into()),
        to: None
    }));
    assert!(steps.contains(&Step::Apply {
        index: 1,
        reference: Some("e1".into()),
        to: Some("e7".into())
    }));
    assert_eq!(list.report().log[0].target.as_deref(), Some("e7"));
}

fn find_save() -> Option<Target> {
    Some(Target::Find(Find {
        name: Some("Save".into()),
        ..Find::default()
    }))
}

fn save_button() -> Node {
    Node {
        name: Some("Save".into()),
        reference: Some("e7".into()),
        ..Node::new("button")
    }
}

/// Runs actions whose target appears at a given time, and returns when the list has ended.
fn run_with_target_from(list: &mut Interaction, from: f64) -> f64 {
    let mut event = Event::Started;
    let mut now = 0.0;
    loop {
        event = match list.next(event, now) {
            Step::Look { .. } if now >= from => Event::Looked(vec![save_button()]),
            Step::Look { .. } => Event::Looked(Vec::new()),
            Step::AwaitChange { ms } => {
                now += ms.min(50.0);
                Event::Changed
            }
            Step::Inspect { .. } => facts(),
            Step::Apply { .. } => Event::Applied(Ok(())),
            Step::Rest { .. } => Event::Rested,
            Step::End => Event::Ended(Outcome::default()),
            Step::Done => return now,
            step => panic!("{step:?}"),
        };
    }
}

#[test]
fn a_target_that_appears_within_a_second_is_found() {
    let hover = action(ActionKind::Hover, find_save());
    let drag = action(
        ActionKind::Drag {
            to: find_save().unwrap(),
        },
        by_ref("e1"),
    );
    for action in [hover, drag] {
        let mut list = interaction(vec![action.clone()]);
        assert_eq!(run_with_target_from(&mut list, 700.0), 700.0);
        assert_eq!(codes(&list), [None], "{action:?}");

        let mut list = interaction(vec![action.clone()]);
        assert_eq!(run_with_target_from(&mut list, 2000.0), 1000.0);
        assert_eq!(codes(&list), [Some(ActionCode::TargetNotFound)]);
    }
}

#[test]
fn missing_targets_are_awaited_once_after_each_action_that_runs() {
    let missing = || action(ActionKind::Hover, find_save());
    let mut list = continuing(vec![missing(), missing(), missing()]);
    assert_eq!(run_with_target_from(&mut list, f64::INFINITY), 1000.0);
    let mut list = continuing(vec![missing(), missing(), scroll(), missing()]);
    assert_eq!(run_with_target_from(&mut list, f64::INFINITY), 2000.0);
    let not_found = Some(ActionCode::TargetNotFound);
    assert_eq!(codes(&list), [not_found, not_found, None, not_found]);
}

#[test]
fn the_wait_for_a_target_ends_with_the_time_limit_of_its_action() {
    let limits = Limits {
        action_timeout_ms: 300.0,
        ..Limits::default()
    };
    let list = vec![action(ActionKind::Hover, find_save())];
    let mut list = Interaction::new(list, limits, false, 0.0);
    assert_eq!(run_with_target_from(&mut list, 2000.0), 300.0);
    assert_eq!(codes(&list), [Some(ActionCode::TargetNotFound)]);
}

#[test]
fn a_cancel_ends_the_wait_for_a_target() {
    let mut list = interaction(vec![action(ActionKind::Hover, find_save())]);
    list.next(Event::Started, 0.0);
    for every_text in [true, false] {
        let step = list.next(Event::Looked(Vec::new()), 0.0);
        assert_eq!(step == Step::Look { every_text: true }, every_text);
    }
    list.cancel();
    list.next(Event::Changed, 10.0);
    list.next(Event::Looked(Vec::new()), 10.0);
    assert_eq!(list.next(Event::Looked(Vec::new()), 10.0), Step::Done);
    assert_eq!(codes(&list), [Some(ActionCode::TargetNotFound)]);
}

#[test]
fn a_handle_that_never_existed_fails_without_a_wait() {
    let mut list = interaction(vec![click("e1")]);
    list.next(Event::Started, 0.0);
    let unknown = Event::Inspected(Inspection::Unknown);
    assert_eq!(list.next(unknown, 0.0), Step::Done);
}

#[test]
fn a_covered_target_is_awaited_for_a_second() {
    let covered = || {
        Event::Inspected(Inspection::Facts(TargetFacts {
            covered_by: Some("menu".into()),
            editable: true,
            ..TargetFacts::default()
        }))
    };
    let mut list = interaction(vec![click("e1"), click("e2")]);
    list.next(Event::Started, 0.0);
    assert_eq!(list.next(covered(), 0.0), Step::AwaitChange { ms: 1000.0 });
    assert!(matches!(
        list.next(Event::Changed, 300.0),
        Step::Inspect { index: 0, .. }
    ));
    assert_eq!(list.next(covered(), 300.0), Step::AwaitChange { ms: 700.0 });
    list.next(Event::Changed, 900.0);
    assert!(matches!(list.next(facts(), 900.0), Step::Apply { .. }));
    list.next(Event::Applied(Ok(())), 900.0);
    list.next(Event::Rested, 900.0);
    list.next(Event::Ended(Outcome::default()), 1000.0);
    list.next(covered(), 1000.0);
    list.next(Event::Changed, 2000.0);
    assert_eq!(list.next(covered(), 2000.0), Step::Done);
    assert_eq!(codes(&list), [None, Some(ActionCode::TargetCovered)]);
}

#[test]
fn controls_are_found_before_other_texts() {
    let find = Target::Find(Find {
        text: Some("Sleep".into()),
        ..Find::default()
    });
    let mut list = interaction(vec![action(ActionKind::Hover, Some(find))]);
    let label = Node {
        reference: Some("e9".into()),
        children: vec![Node::new_text("Sleep")],
        ..Node::new("generic")
    };
    let steps = run(&mut list, |step| match step {
        Step::Look { every_text: true } => Some(Event::Looked(vec![label.clone()])),
        _ => None,
    });
    let looks: Vec<_> = steps
        .iter()
        .filter(|step| matches!(step, Step::Look { .. }))
        .collect();
    assert_eq!(
        looks,
        [
            &Step::Look { every_text: false },
            &Step::Look { every_text: true }
        ]
    );
    assert_eq!(list.report().log[0].target.as_deref(), Some("e9"));
}

fn press_key(target: Option<Target>) -> Action {
    action(ActionKind::PressKey { key: "x".into() }, target)
}

#[test]
fn the_target_of_a_key_is_the_focused_element() {
    let mut list = Interaction::new(vec![press_key(None)], Limits::default(), true, 0.0);
    let steps = run(&mut list, |step| {
        (*step == Step::FindFocus).then(|| Event::Focused(Some("e7".into())))
    });
    assert!(steps.contains(&Step::Confirm {
        index: 0,
        reference: Some("e7".into()),
        to: None
    }));
    assert!(steps.contains(&Step::Apply {
        index: 0,
        reference: Some("e7".into()),
        to: None
    }));
}

#[test]
fn a_key_is_not_sent_to_a_focused_private_element() {
    let inspect = |change: fn(&mut TargetFacts)| {
        let mut list = interaction(vec![press_key(None)]);
        run(&mut list, |step| match step {
            Step::FindFocus => Some(Event::Focused(Some("e7".into()))),
            Step::Inspect { .. } => {
                let mut facts = TargetFacts::default();
                change(&mut facts);
                Some(Event::Inspected(Inspection::Facts(facts)))
            }
            _ => None,
        });
        codes(&list)
    };
    let private = inspect(|facts| facts.private = true);
    assert_eq!(private, [Some(ActionCode::TargetPrivate)]);
    let outside = inspect(|facts| facts.outside = true);
    assert_eq!(outside, [Some(ActionCode::TargetNotFound)]);
    // The page has given it the focus although it is hidden, as editors do.
    assert_eq!(inspect(|facts| facts.hidden = true), [None]);
}

#[test]
fn a_target_is_inspected_again_after_the_app_has_allowed_the_action() {
    let mut list = Interaction::new(vec![click("e1")], Limits::default(), true, 0.0);
    let mut looks = 0;
    let steps = run(&mut list, |step| match step {
        Step::Inspect { .. } => {
            looks += 1;
            let is_disabled = looks == 2;
            Some(Event::Inspected(Inspection::Facts(TargetFacts {
                disabled: is_disabled.then(|| "disabled".into()),
                ..TargetFacts::default()
            })))
        }
        _ => None,
    });
    assert_eq!(looks, 2);
    assert_eq!(codes(&list), [Some(ActionCode::TargetDisabled)]);
    assert!(!steps.iter().any(|step| matches!(step, Step::Apply { .. })));
}
