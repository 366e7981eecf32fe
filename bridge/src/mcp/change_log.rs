//! The newest notification of each change that was sent to the client of an MCP session. A client that
//! resumes its standalone stream fetches what has changed, however often it did.

use std::collections::BTreeMap;

use serde_json::json;

use crate::hub::PendingNotifications;

/// The maximum number of resources. Beyond it, the ones that changed first are forgotten.
const MAX_RESOURCES: usize = 256;

/// The maximum number of requests that need no answer any more.
const MAX_WITHDRAWN: usize = 64;

/// The number of the newest notification of each change.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    last_number: u64,
    lists: BTreeMap<List, u64>,
    resources: BTreeMap<String, u64>,
    /// The ids of the newest requests that need no answer any more.
    withdrawn: BTreeMap<u64, String>,
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
        let newer = self.after(before);
        while self.resources.len() > MAX_RESOURCES {
            let oldest = self.resources.iter().min_by_key(|(_, at)| **at);
            let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) else {
                break;
            };
            self.resources.remove(&oldest);
        }
        newer
    }

    /// Records that a request needs no answer any more, and returns the notification.
    pub(super) fn record_withdrawn(&mut self, request_id: String) -> Vec<(u64, String)> {
        let before = self.last_number;
        self.last_number += 1;
        self.withdrawn.insert(self.last_number, request_id);
        if self.withdrawn.len() > MAX_WITHDRAWN {
            self.withdrawn.pop_first();
        }
        self.after(before)
    }

    /// Returns the notifications that are newer than the one with this number, in their order.
    pub(super) fn after(&self, number: u64) -> Vec<(u64, String)> {
        let lists = self.lists.iter().filter(|(_, at)| **at > number);
        let lists = lists.map(|(list, at)| (*at, list.notification()));
        let resources = self.resources.iter().filter(|(_, at)| **at > number);
        let resources = resources.map(|(uri, at)| (*at, resource_updated(uri)));
        let withdrawn = self.withdrawn.range(number + 1..);
        let withdrawn = withdrawn.map(|(at, id)| (*at, request_cancelled(id)));
        let mut newer: Vec<_> = lists.chain(resources).chain(withdrawn).collect();
        newer.sort_unstable_by_key(|(at, _)| *at);
        newer
    }

    /// Forgets all resources, because the client has no subscriptions any more.
    pub(super) fn forget_resources(&mut self) {
        self.resources.clear();
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

fn request_cancelled(request_id: &str) -> String {
    let reason = "the call that asked is over, or waits no longer";
    let params = json!({ "requestId": request_id, "reason": reason });
    let method = "notifications/cancelled";
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
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
        log.forget_resources();
        assert_eq!(numbers(&log.after(0)), [4]);
        let withdrawn = log.record_withdrawn("mcp-web/1/1".to_owned());
        assert!(withdrawn[0].1.contains("mcp-web/1/1"));
        assert_eq!(numbers(&log.after(4)), [6]);
    }

    #[test]
    fn what_was_sent_first_is_forgotten_beyond_the_maximum() {
        let mut log = ChangeLog::default();
        let uris = (0..2 * MAX_RESOURCES).map(|n| format!("a:{n}"));
        let pending = PendingNotifications {
            updated_uris: uris.collect(),
            ..PendingNotifications::default()
        };
        assert_eq!(log.record(pending).len(), 2 * MAX_RESOURCES);
        assert_eq!(log.after(0).len(), MAX_RESOURCES);
        for n in 0..2 * MAX_WITHDRAWN {
            log.record_withdrawn(n.to_string());
        }
        assert_eq!(log.after(0).len(), MAX_RESOURCES + MAX_WITHDRAWN);
    }
}
