//! Random schedules of arrivals, faults and late answers at several nodes.

use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::RealmLoss;
use super::model::{Counts, Model, Omission, Outcome};

/// A step of a schedule. The numbers select a node, modulo the number of nodes.
#[derive(Clone, Debug)]
enum Event {
    Arrive(usize),
    Connect(usize),
    Depart(usize),
    Report(usize, bool),
    Misdirect(usize),
    Perform(usize, Outcome),
    Deliver(usize),
    /// Performs and delivers.
    Answer(usize, Outcome),
    Close(usize),
    PerformLate(usize),
    Check(usize),
    Wait(u64),
    RunTimer(usize),
    SetLease(usize, usize, bool),
    Cut(usize, bool, bool),
    Engine(bool),
    LoseRecord,
    Kill(usize),
    Start(usize),
    Leave(usize, bool),
    Serve(usize),
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        8 => Just(Outcome::Performed),
        2 => (0..4u8).prop_map(Outcome::Stale),
        1 => Just(Outcome::AnswerLost),
        1 => Just(Outcome::Refused),
        1 => Just(Outcome::Late),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    let node = || 0..5usize;
    prop_oneof![
        10 => node().prop_map(Event::Arrive),
        8 => node().prop_map(Event::Connect),
        4 => node().prop_map(Event::Depart),
        4 => (node(), prop::bool::weighted(0.1)).prop_map(|(node, old)| Event::Report(node, old)),
        2 => node().prop_map(Event::Misdirect),
        12 => (node(), any_outcome()).prop_map(|(node, outcome)| Event::Perform(node, outcome)),
        12 => node().prop_map(Event::Deliver),
        20 => (node(), any_outcome()).prop_map(|(node, outcome)| Event::Answer(node, outcome)),
        4 => node().prop_map(Event::Close),
        4 => node().prop_map(Event::PerformLate),
        3 => node().prop_map(Event::Check),
        6 => prop_oneof![Just(50), Just(250), Just(9_000), Just(31_000), Just(13 * 3_600_000)]
            .prop_map(Event::Wait),
        10 => node().prop_map(Event::RunTimer),
        10 => (node(), node(), prop::bool::weighted(0.8))
            .prop_map(|(observer, node, is_over)| Event::SetLease(observer, node, is_over)),
        4 => (node(), prop::bool::weighted(0.2), prop::bool::weighted(0.3))
            .prop_map(|(node, directory, peers)| Event::Cut(node, directory, peers)),
        1 => prop::bool::weighted(0.8).prop_map(Event::Engine),
        1 => Just(Event::LoseRecord),
        2 => node().prop_map(Event::Kill),
        4 => node().prop_map(Event::Start),
        1 => (node(), any::<bool>()).prop_map(|(node, isolated)| Event::Leave(node, isolated)),
        1 => node().prop_map(Event::Serve),
    ]
}

fn any_schedule() -> impl Strategy<Value = (usize, Vec<Event>)> {
    (3..=5usize, prop::collection::vec(any_event(), 1..250))
}

/// Runs a schedule, and returns the violation of an invariant, if there is one.
fn run(nodes: usize, events: &[Event], omission: Option<Omission>) -> (Counts, Option<String>) {
    let mut model = Model::new(nodes, omission);
    for event in events {
        model.counts.steps += 1;
        step(&mut model, event);
        if model.violation.is_some() {
            return (model.counts, model.violation);
        }
    }
    model.come_to_rest();
    model.check_that_all_agree();
    (model.counts, model.violation)
}

fn step(model: &mut Model, event: &Event) {
    let count = model.node_count();
    let n = |number: &usize| number % count;
    match event {
        Event::Arrive(node) => model.arrive(n(node)),
        Event::Connect(node) => model.connect(n(node)),
        Event::Depart(node) => model.depart(n(node)),
        Event::Report(node, is_outdated) => model.report(n(node), *is_outdated),
        Event::Misdirect(node) => model.misdirect(n(node)),
        Event::Perform(node, outcome) => model.perform(n(node), *outcome),
        Event::Deliver(node) => model.deliver(n(node)),
        Event::Answer(node, outcome) => {
            model.perform(n(node), *outcome);
            model.deliver(n(node));
        }
        Event::Close(node) => model.close(n(node)),
        Event::PerformLate(index) => model.perform_late(*index),
        Event::Check(node) => model.check(n(node)),
        Event::Wait(ms) => model.wait(Duration::from_millis(*ms)),
        Event::RunTimer(node) => model.run_timer(n(node)),
        Event::SetLease(observer, node, is_over) => model.set_lease(n(observer), n(node), *is_over),
        Event::Cut(node, directory, peers) => model.cut(n(node), *directory, *peers),
        Event::Engine(is_up) => model.set_engine(*is_up),
        Event::LoseRecord => model.lose_record(),
        Event::Kill(node) => model.kill(n(node)),
        Event::Start(node) => model.start(n(node)),
        Event::Leave(node, true) => model.leave(n(node), RealmLoss::Isolated),
        Event::Leave(node, false) => model.leave(n(node), RealmLoss::Drained),
        Event::Serve(node) => model.serve(n(node)),
    }
}

#[test]
fn claims_are_safe_and_come_to_rest_in_every_schedule() {
    // `PROPTEST_CASES` sets a greater number for a longer run.
    let config = Config {
        cases: Config::default().cases.max(1_500),
        failure_persistence: None,
        ..Config::default()
    };
    let total = std::cell::RefCell::new(Counts::default());
    let result = TestRunner::new(config).run(&any_schedule(), |(nodes, events)| {
        let (counts, violation) = run(nodes, &events, None);
        total.borrow_mut().add(counts);
        prop_assert_eq!(violation, None);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let total = total.into_inner();
    println!("{total:?}");
    // The schedules reach each of these situations.
    let Counts {
        takeovers_of_living,
        losses,
        releases,
        moves,
        late_writes,
        stale_reads,
        ..
    } = total;
    assert!(total.claims > 0 && total.takeovers > takeovers_of_living && takeovers_of_living > 0);
    assert!(losses > 0 && releases > 0 && moves > 0 && late_writes > 0 && stale_reads > 0);
    assert!(total.refused_by_guard > 0);
}

/// Searches for a schedule that violates an invariant without one of the protections.
fn find_violation(omission: Omission) -> Option<(u32, String)> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (1..=2_000).find_map(|case| {
        let (nodes, events) = any_schedule().new_tree(&mut runner).unwrap().current();
        let (_, violation) = run(nodes, &events, Some(omission));
        violation.map(|violation| (case, violation))
    })
}

#[test]
fn schedules_notice_a_directory_without_compare_and_set() {
    let violation = find_violation(Omission::CompareAndSet);
    println!("{violation:?}");
    assert!(violation.is_some());
}

#[test]
fn schedules_notice_a_takeover_with_one_witness() {
    let violation = find_violation(Omission::SecondWitness);
    println!("{violation:?}");
    assert!(violation.is_some_and(|(_, violation)| violation.contains("Mine")));
}

#[test]
fn schedules_notice_a_page_that_connects_without_its_claim() {
    let violation = find_violation(Omission::GuardAtConnecting);
    println!("{violation:?}");
    assert!(violation.is_some_and(|(_, violation)| violation.contains("no claim")));
}
