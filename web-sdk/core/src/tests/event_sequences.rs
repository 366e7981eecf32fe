//! Property tests: the invariants of the protocol hold for any sequence of events.

mod bridge;
mod harness;

use proptest::prelude::*;

use harness::Harness;

/// An event of a test run.
#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Remove(usize),
    Flush,
    /// A task ends in which handlers were started.
    EndTask,
    Call {
        id: u32,
        tool: u32,
    },
    Finish(usize),
    Cancel(usize),
    Request(usize),
    Respond(usize),
    /// The bridge receives this number of messages from the page.
    Deliver(usize),
    /// The page receives this number of messages from the bridge.
    Receive(usize),
    PassTime(u64),
    /// The connection breaks, and the messages in transit in both directions are lost.
    Break,
    BridgeRestarts,
    Retry,
    Resume,
    Heartbeat,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_u32).prop_map(Step::Add),
        1 => any::<usize>().prop_map(Step::Remove),
        3 => Just(Step::Flush),
        4 => Just(Step::EndTask),
        6 => (0..12_u32, 0..4_u32).prop_map(|(id, tool)| Step::Call { id, tool }),
        4 => any::<usize>().prop_map(Step::Finish),
        2 => any::<usize>().prop_map(Step::Cancel),
        3 => any::<usize>().prop_map(Step::Request),
        2 => any::<usize>().prop_map(Step::Respond),
        6 => (1..8_usize).prop_map(Step::Deliver),
        6 => (1..8_usize).prop_map(Step::Receive),
        3 => (1..6_000_u64).prop_map(Step::PassTime),
        2 => Just(Step::Break),
        1 => Just(Step::BridgeRestarts),
        3 => Just(Step::Retry),
        1 => Just(Step::Resume),
        2 => Just(Step::Heartbeat),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn invariants_hold_for_any_event_sequence(steps in proptest::collection::vec(step(), 0..80)) {
        let mut harness = Harness::new();
        for step in steps {
            harness.apply(step);
        }
        harness.finish_and_check();
    }
}
