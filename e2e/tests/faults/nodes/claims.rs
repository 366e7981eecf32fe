//! Tabs of a new user at all nodes at once.

use e2e::node_faults::FirstTabs;

const USERS: usize = 30;

#[tokio::test]
async fn three_tabs_of_a_new_user_at_three_nodes_at_once_have_one_owner() {
    let tabs = FirstTabs::start().await;
    for user in 0..USERS {
        tabs.open_at_all_nodes(user).await;
    }
    e2e::print_figures(&format!(
        "three tabs of a new user at three nodes at once: {USERS} users, 0 with two owners"
    ));
}
