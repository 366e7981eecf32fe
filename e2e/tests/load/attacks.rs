//! Each attack does what it says, and others are served during it. `cargo xtask bench` measures how
//! well.

use e2e::TestBed;
use e2e::attacks::{Attack, Attacker, Schedule, Victim, run};

#[tokio::test]
async fn calls_are_answered_during_each_attack() {
    for &attack in Attack::all() {
        let bed = TestBed::bridge_with(attack.bridge_arguments()).await;
        let victim = Victim::connect(bed.address()).await;
        let attacker = Attacker::new(bed.address(), Schedule::Trial);
        let (actions, calls) = tokio::join!(run(&attacker, attack), victim.call(5));
        assert!(actions > 0, "{attack:?} does nothing");
        calls.unwrap_or_else(|error| panic!("{attack:?}: {error:#}"));
        victim.call(5).await.unwrap();
    }
}
