//! The newest notification of each change that was sent to the client of an MCP session. A client that
//! resumes its standalone stream fetches what has changed, however often it did.

use std::collections::BTreeMap;

use serde_json::json;

use crate::hub::PendingNotifications;

/// The number of the newest notification of each change.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    last_number: u64,
    lists: BTreeMap<List, u64>,
    resources: BTreeMap<String, u64>,
}

/// A list that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum List {
    Tools,
    Prompts,
    Resources,
}

impl ChangeLog {
    /// The number of the newest notification.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Records changes, and returns the notifications with their numbers.
    pub(super) fn record(&mut self, pending: PendingNotifications) -> Vec<(u64, String)> {
        let before = self.last_number;
        for (list, has_changed) in [
            (List::Tools, pending.tools_changed),
            (List::Prompts, pending.prompts_changed),
            (List::Resources, pending.resources_changed),
        ] {
            if has_changed {
                self.last_number += 1;
                self.lists.insert(list, self.last_number);
            }
        }
        for uri in pending.updated_uris {
            self.last_number += 1;
            self.resources.insert(uri, self.last_number);
        }
        self.after(before)
    }

    /// Returns the notifications that are newer than the one with this number, in their order.
    pub(super) fn after(&self, number: u64) -> Vec<(u64, String)> {
        let lists = self
            .lists
            .iter()
            .map(|(list, at)| (*at, list.notification()));
        let resources = self.resources.iter();
        let resources = resources.map(|(uri, at)| (*at, resource_updated(uri)));
        let mut newer: Vec<_> = lists
            .chain(resources)
            .filter(|(at, _)| *at > number)
            .collect();
        newer.sort_unstable_by_key(|(at, _)| *at);
        newer
    }

    /// Forgets a resource to which the client has ended its subscription.
    pub(super) fn forget_resource(&mut self, uri: &str) {
        self.resources.remove(uri);
    }
}

impl List {
    fn notification(self) -> String {
        let list = match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
        };
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
    }
}

fn resource_updated(uri: &str) -> String {
    let method = "notifications/resources/updated";
    json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_notification_of_each_change_is_kept() {
        let mut log = ChangeLog::default();
        let changed = |tools_changed, uris: &[&str]| PendingNotifications {
            tools_changed,
            updated_uris: uris.iter().map(ToString::to_string).collect(),
            ..PendingNotifications::default()
        };
        let numbers = |events: &[(u64, String)]| -> Vec<u64> {
            events.iter().map(|(number, _)| *number).collect()
        };
        let first = log.record(changed(true, &["a:1", "a:2"]));
        assert_eq!(numbers(&first), [1, 2, 3]);
        assert!(first[0].1.contains("notifications/tools/list_changed"));
        assert!(first[2].1.contains("a:2"));
        assert_eq!(numbers(&log.record(changed(true, &["a:1"]))), [4, 5]);
        assert_eq!(numbers(&log.after(0)), [3, 4, 5]);
        assert_eq!(numbers(&log.after(4)), [5]);
        log.forget_resource("a:1");
        assert_eq!(numbers(&log.after(0)), [3, 4]);
        assert_eq!(log.last_number(), 5);
    }
}
