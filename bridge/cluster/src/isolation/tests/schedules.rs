//! Random schedules of cuts, deaths, drains and stalls at several nodes.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::model::{Counts, Model};

/// A step of a schedule. The numbers select a node, modulo the number of nodes.
#[derive(Clone, Debug)]
enum Event {
    /// Cuts or restores the pings of one node to another, perhaps in both directions.
    Link(usize, usize, bool, bool),
    /// Cuts a node off from all others, or restores its links.
    Links(usize, bool),
    Directory(usize, bool),
    /// Cuts all nodes off from the directory, or connects them.
    DirectoryOfAll(bool),
    Kill(usize),
    Start(usize),
    Drain(usize),
    Stall(usize, u64),
    Wait(u64),
}

fn any_event() -> impl Strategy<Value = Event> {
    let node = || 0..5usize;
    let is_up = || prop::bool::weighted(0.5);
    prop_oneof![
        6 => (node(), node(), is_up(), prop::bool::weighted(0.8))
            .prop_map(|(from, to, is_up, both)| Event::Link(from, to, is_up, both)),
        4 => (node(), is_up()).prop_map(|(node, is_up)| Event::Links(node, is_up)),
        4 => (node(), is_up()).prop_map(|(node, is_up)| Event::Directory(node, is_up)),
        1 => prop::bool::weighted(0.6).prop_map(Event::DirectoryOfAll),
        1 => node().prop_map(Event::Kill),
        3 => node().prop_map(Event::Start),
        1 => node().prop_map(Event::Drain),
        1 => (node(), 1..20u64).prop_map(|(node, seconds)| Event::Stall(node, seconds)),
        12 => (1..30u64).prop_map(Event::Wait),
    ]
}

fn run(nodes: usize, events: &[Event]) -> (Counts, Option<String>) {
    let mut model = Model::new(nodes);
    for event in events {
        step(&mut model, event);
        if model.violation.is_some() {
            return (model.counts, model.violation);
        }
    }
    model.heal();
    model.wait(90);
    model.check_healed();
    (model.counts, model.violation)
}

fn step(model: &mut Model, event: &Event) {
    let count = model.count();
    match *event {
        Event::Link(from, to, is_up, both) => {
            model.set_link(from % count, to % count, is_up);
            if both {
                model.set_link(to % count, from % count, is_up);
            }
        }
        Event::Links(node, is_up) => {
            for other in 0..count {
                model.set_link(node % count, other, is_up);
                model.set_link(other, node % count, is_up);
            }
        }
        Event::Directory(node, is_up) => model.set_connected(node % count, is_up),
        Event::DirectoryOfAll(is_up) => {
            for node in 0..count {
                model.set_connected(node, is_up);
            }
        }
        Event::Kill(node) => model.kill(node % count),
        Event::Start(node) => model.start(node % count),
        Event::Drain(node) => model.drain(node % count),
        Event::Stall(node, seconds) => model.stall(node % count, seconds),
        Event::Wait(seconds) => model.wait(seconds),
    }
}

#[test]
fn a_node_that_is_reached_remains_and_some_node_serves_in_every_schedule() {
    // `PROPTEST_CASES` sets a greater number for a longer run.
    let config = Config {
        cases: Config::default().cases.max(1_500),
        failure_persistence: None,
        ..Config::default()
    };
    let schedules = (1..=5usize, prop::collection::vec(any_event(), 1..120));
    let total = RefCell::new(Counts::default());
    let result = TestRunner::new(config).run(&schedules, |(nodes, events)| {
        let (counts, violation) = run(nodes, &events);
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
    assert!(total.lease_lost > 0 && total.unreached > 0 && total.pairs > 0);
    assert!(total.returned > 0 && total.alone > 0 && total.none_reached > 0);
}
