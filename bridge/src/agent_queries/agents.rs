//! The agents that answer queries, and which of them answers those of a user.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_settings::Secret;
use sha2::{Digest, Sha256};

use super::agent_client::AgentClient;
use crate::config;

/// The agents of the bridge. Often it is one, and there may be none.
#[derive(Debug, Default)]
pub(super) struct Agents(Vec<NamedAgent>);

/// An agent with the URL by which all bridges know it.
#[derive(Debug)]
struct NamedAgent {
    url: String,
    client: Arc<AgentClient>,
}

impl Agents {
    /// Creates the clients for the configured agents. `credential` is the one that the operator has set for
    /// all of them. An agent that the bridge runs reports its address when it has started, and gets a
    /// random credential.
    pub(super) fn from_config(config: &config::Agent, credential: Option<&Secret>) -> Self {
        if config.run_agent {
            return Self(vec![NamedAgent {
                url: String::new(),
                client: Arc::new(AgentClient::starting(config)),
            }]);
        }
        let agents = config.agent_url.iter().filter_map(|url| {
            let client = AgentClient::at(url, config, credential.cloned())?;
            Some(NamedAgent {
                url: url.to_string(),
                client: Arc::new(client),
            })
        });
        Self(agents.collect())
    }

    /// Returns the agent of a user, which has the user's conversations and waits for approvals. It is the
    /// same at each bridge, in whatever order that names the agents, and no other takes its place while it
    /// is away.
    ///
    /// This is rendezvous hashing: with one agent more or less, only the users of that one have another.
    pub(super) fn of(&self, realm: RealmId) -> Option<&Arc<AgentClient>> {
        let user = realm.user_id();
        let agents = self.0.iter();
        let agent = agents.max_by_key(|agent| weight(&agent.url, &user))?;
        Some(&agent.client)
    }

    /// Returns the clients of all agents.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<AgentClient>> {
        self.0.iter().map(|agent| &agent.client)
    }
}

/// The agent with the greatest weight answers a user. All versions of the bridge have to agree on it.
fn weight(url: &str, user: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(url);
    hash.update([0]);
    hash.update(user);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const USERS: usize = 1_000;

    fn agents(urls: &[&str]) -> Agents {
        let config = config::Agent {
            agent_url: urls.iter().map(|url| url.parse().unwrap()).collect(),
            ..config::Agent::default()
        };
        Agents::from_config(&config, None)
    }

    /// The URL of the agent of each user.
    fn picks(agents: &Agents) -> Vec<String> {
        let users = (0..USERS).map(|user| RealmId::from_token(&user.to_string()));
        let url = |realm| {
            let picked = agents.of(realm).unwrap();
            let named = agents.0.iter().find(|it| Arc::ptr_eq(&it.client, picked));
            named.unwrap().url.clone()
        };
        users.map(url).collect()
    }

    #[test]
    fn users_are_spread_over_the_agents_in_any_order_of_them() {
        let first = picks(&agents(&["a.example", "b.example", "c.example"]));
        let second = picks(&agents(&["c.example", "http://a.example/", "b.example"]));
        assert_eq!(first, second);
        let mut counts = BTreeMap::new();
        for url in first {
            *counts.entry(url).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 3);
        let is_fair = |count: &usize| (USERS / 4..USERS / 2).contains(count);
        assert!(counts.values().all(is_fair), "{counts:?}");
    }

    #[test]
    fn only_the_users_of_a_removed_agent_get_another() {
        let three = picks(&agents(&["a.example", "b.example", "c.example"]));
        let two = picks(&agents(&["a.example", "c.example"]));
        for (before, after) in three.iter().zip(&two) {
            let is_removed = before == "http://b.example/query";
            assert_eq!(before != after, is_removed, "{before}, {after}");
        }
    }

    /// Another weight would separate users from their conversations. The values come from Python's
    /// `hashlib`.
    #[test]
    fn every_version_picks_the_same_agent() {
        let picks = picks(&agents(&["a.example", "b.example", "c.example"]));
        let hosts: String = picks[..20].iter().map(|url| &url[7..8]).collect();
        assert_eq!(hosts, "abbcacccacbaaabaabac");
    }

    #[test]
    fn without_an_agent_a_user_has_none() {
        assert!(agents(&[]).of(RealmId::from_token("token")).is_none());
    }
}
