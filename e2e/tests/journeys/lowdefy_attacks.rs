//! The effect of one user's attack on another user of a Lowdefy host. It compares times, so nothing else runs
//! beside it.

use e2e::TestBed;

use crate::lowdefy::run_installed_host;

const SUITES: [&str; 2] = ["tests/attacks.test.mjs", "tests/processes.test.mjs"];

/// Attacks of one user on the host, and of the process of a user on the others.
#[tokio::test]
async fn a_user_notices_no_attack_of_another() {
    let bed = TestBed::bridge().await;
    run_installed_host(&bed, "attacks", "1", &SUITES, 18).await;
}
