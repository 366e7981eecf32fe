//! Tabs of new users at all nodes at once.

use std::sync::Arc;

use super::ledger::Ledger;
use super::owners::read_status;
use super::run::{LEASE, NODES};
use super::tabs::Tab;
use crate::{ClusterBed, TokenIssuer};

/// Three nodes without users.
pub struct FirstTabs {
    bed: ClusterBed,
    ledger: Arc<Ledger>,
}

impl FirstTabs {
    /// Starts the nodes.
    pub async fn start() -> Self {
        let arguments = [&LEASE, &TokenIssuer::bridge_arguments()[..]].concat();
        Self {
            bed: ClusterBed::start_with(NODES, &arguments).await,
            ledger: Arc::new(Ledger::new()),
        }
    }

    /// Opens a tab of a new user at each node at the same time.
    ///
    /// # Panics
    ///
    /// Panics if the nodes do not agree on the owner, or if a tab is missing there.
    pub async fn open_at_all_nodes(&self, user: usize) {
        let name = format!("first-{user}");
        let open = |node| {
            let url = self.bed.node(node).url();
            Tab::open(&url, &name, &format!("{name}-{node}"), &self.ledger)
        };
        let mut tabs: Vec<_> = (0..NODES).map(open).collect();
        for tab in &mut tabs {
            tab.wait_until_registered().await;
        }
        let token = TokenIssuer::token_of(&name);
        let first = read_status(&self.bed, 0, &token).await;
        assert_eq!(first["pages"], NODES, "{name}");
        for node in 1..NODES {
            assert_eq!(read_status(&self.bed, node, &token).await, first, "{name}");
        }
    }
}
