//! Whatever happens in whatever order, the promises of the protocol hold.

mod bridge;
mod world;

use proptest::prelude::*;

use world::World;

/// Something that happens to a page.
#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Remove(usize),
    Flush,
    Call {
        id: u32,
        tool: u32,
    },
    Finish(usize),
    Cancel(usize),
    Ask(usize),
    Respond(usize),
    /// The bridge hears so many messages of the page.
    Deliver(usize),
    /// The page hears so many messages of the bridge.
    Receive(usize),
    PassTime(u64),
    /// What is under way in either direction is lost.
    Break,
    BridgeRestarts,
    Retry,
    Wake,
    Heartbeat,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4_u32).prop_map(Step::Add),
        1 => any::<usize>().prop_map(Step::Remove),
        3 => Just(Step::Flush),
        6 => (0..12_u32, 0..4_u32).prop_map(|(id, tool)| Step::Call { id, tool }),
        4 => any::<usize>().prop_map(Step::Finish),
        2 => any::<usize>().prop_map(Step::Cancel),
        3 => any::<usize>().prop_map(Step::Ask),
        2 => any::<usize>().prop_map(Step::Respond),
        6 => (1..8_usize).prop_map(Step::Deliver),
        6 => (1..8_usize).prop_map(Step::Receive),
        3 => (1..6_000_u64).prop_map(Step::PassTime),
        2 => Just(Step::Break),
        1 => Just(Step::BridgeRestarts),
        3 => Just(Step::Retry),
        1 => Just(Step::Wake),
        2 => Just(Step::Heartbeat),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn promises_hold(steps in proptest::collection::vec(step(), 0..80)) {
        let mut world = World::new();
        for step in steps {
            world.apply(step);
        }
        world.finish_and_check();
    }
}
