//! Limits the lines about realms that move, and about what other nodes and the directory do wrong.

use bridge_auth::RealmId;
use bridge_cluster::{NodeId, Peer, RealmLoss};
use tokio::time::Instant;

use crate::lifecycle::LineLimit;

/// The maximum number of lines of each kind in a second. Such errors come with each request or renewal.
const MAX_LINES_PER_SECOND: u32 = 1;

/// The maximum number of lines about realms in a second. When a node ends, all of its realms move.
const MAX_REALM_LINES_PER_SECOND: u32 = 20;

/// The limit of each kind of line.
#[derive(Debug)]
pub(super) struct LogLimits {
    invalid_records: LineLimit,
    refusals: LineLimit,
    realms: LineLimit,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            invalid_records: LineLimit::new(MAX_LINES_PER_SECOND),
            refusals: LineLimit::new(MAX_LINES_PER_SECOND),
            realms: LineLimit::new(MAX_REALM_LINES_PER_SECOND),
        }
    }
}

impl LogLimits {
    /// Logs that a record was not written by a node of this cluster.
    pub(super) fn log_invalid_record(&self) {
        if let Some(suppressed) = self.invalid_records.next_line(Instant::now()) {
            tracing::error!(
                suppressed,
                "a record in NATS was not written with `cluster_secret`, and is ignored: bridges with \
                 another one do not know the users of this one. Check the secrets of all bridges, and who \
                 else may write to their buckets"
            );
        }
    }

    /// Logs that another node has not accepted that a request comes from this one.
    pub(super) fn log_refusal(&self, address: &str) {
        if let Some(suppressed) = self.refusals.next_line(Instant::now()) {
            tracing::error!(
                address,
                suppressed,
                "another bridge refuses the requests of this one, its log says why: check the clocks \
                 and `cluster_secret` of both"
            );
        }
    }

    /// Logs that this node has taken a realm over from a node that is gone.
    pub(super) fn log_takeover(&self, realm: RealmId, from: &NodeId, is_lease_over: bool) {
        let from = from.short();
        let why = if is_lease_over {
            "its lease was over"
        } else {
            "it has left NATS and does not answer"
        };
        self.log_realm(realm, || format!("taken over from {from}: {why}"));
    }

    /// Logs that this node has taken a realm that its last owner has given away.
    pub(super) fn log_taken_when_moved(&self, realm: RealmId) {
        self.log_realm(realm, || {
            "taken over: its last bridge has given it away".to_owned()
        });
    }

    /// Logs that this node has given a realm up.
    pub(super) fn log_loss(&self, realm: RealmId, loss: RealmLoss) {
        self.log_realm(realm, || match loss {
            RealmLoss::Record(Some(owner)) => format!("lost: the record names {}", owner.short()),
            RealmLoss::Record(None) => "lost: another bridge had it and gave it away".to_owned(),
            RealmLoss::Drained => "given away: this bridge stops".to_owned(),
            RealmLoss::Isolated => "given away: other bridges do not reach this one".to_owned(),
        });
    }

    /// Logs that the record of a realm was removed, because no node has taken the realm over.
    pub(super) fn log_removed(&self, realm: RealmId, owner: Option<&Peer>) {
        self.log_realm(realm, || match owner {
            Some(owner) => format!("removed: its bridge {} is gone", owner.id.short()),
            None => "removed: its last bridge has given it away".to_owned(),
        });
    }

    /// Logs what happens to a realm.
    fn log_realm(&self, realm: RealmId, what: impl FnOnce() -> String) {
        if let Some(suppressed) = self.realms.next_line(Instant::now()) {
            tracing::info!(?realm, suppressed, "{}", what());
        }
    }

    /// Logs how many realms of a burst have no line.
    pub(super) fn log_suppressed(&self) {
        if let Some(suppressed) = self.realms.take_suppressed(Instant::now()) {
            tracing::info!(suppressed, "more realms have moved");
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_output::CapturedLog;

    use super::*;
    use crate::lifecycle::LINE_INTERVAL;

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_realms_has_some_lines_and_a_count() {
        let (log, _guard) = CapturedLog::start();
        let limits = LogLimits::default();
        let (realm, node) = (RealmId::from_token("t"), NodeId::from_bytes([2; 16]));
        for _ in 0..100 {
            limits.log_takeover(realm, &node, true);
        }
        let line = format!("taken over from {}", node.short());
        assert!(
            log.text().contains(&format!("realm={realm:?}")),
            "{}",
            log.text()
        );
        assert_eq!(log.text().matches(&line).count(), 20, "{}", log.text());
        assert!(log.text().contains("its lease was over"));
        limits.log_suppressed();
        assert!(!log.text().contains("more realms"));
        tokio::time::advance(LINE_INTERVAL).await;
        limits.log_suppressed();
        limits.log_suppressed();
        let text = log.text();
        let rest: Vec<_> = text
            .lines()
            .filter(|it| it.contains("more realms"))
            .collect();
        assert_eq!(rest.len(), 1, "{text}");
        assert!(rest[0].contains("80"), "{text}");
    }
}
