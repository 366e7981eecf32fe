//! The time between the request to stop and the shutdown: what runs may end.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::ServerHandle;

/// How often a bridge that drains looks whether anything still runs.
const QUIET_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// How long connections without a request stay open after the bridge has begun to close each after its
/// next response. A request that is sent while its connection is closed would fail.
const LAST_REQUESTS: Duration = Duration::from_millis(500);

/// How long a bridge that has no realms left still passes requests on. By then, the others have found out
/// who owns them.
const EDGE_TIME: Duration = Duration::from_secs(3);

/// How long the last requests that it has passed on may take after that.
const LAST_PASSED_ON: Duration = Duration::from_secs(4);

/// The part of `drain_timeout` over which pages are spread that connect to other bridges.
const SPREAD_PARTS: u32 = 3;

impl ServerHandle {
    /// Prepares for [`shutdown`](Self::shutdown), and completes when it should be called: when no call and
    /// no query runs, but at the earliest after `drain_delay`, and at the latest after `drain_timeout`.
    ///
    /// Meanwhile `/readyz` responds with 503, and pages that have no session are refused with a code after
    /// which they retry (1012). Everything else is served, also new calls: a load balancer stops sending
    /// them, and without one there is nothing else that would serve them. At the end, connections close
    /// after their next response, and new ones wait for the next process if it has the same socket.
    ///
    /// One of several bridges first gives its realms to the others, and serves new pages until then. That may
    /// take up to 10 s longer than `drain_timeout`.
    pub async fn drain(&self) {
        let began = Instant::now();
        let (timeout, delay) = {
            let config = &self.hub.config.state;
            (config.drain_timeout, config.drain_delay)
        };
        self.hub.drain();
        if let Some(cluster) = &self.cluster {
            cluster.begin_drain();
        }
        let usage = self.hub.usage();
        tracing::info!(
            pages = usage.connected_sessions,
            calls = usage.calls,
            queries = usage.queries,
            "draining: the bridge ends when its calls and queries have ended"
        );
        sleep(delay).await;
        let mut deadline = began + timeout;
        let mut has_given_away = false;
        if let Some(cluster) = &self.cluster
            && cluster
                .give_realms_away(timeout / SPREAD_PARTS, deadline.into_std())
                .await
        {
            has_given_away = true;
            deadline = deadline.max(Instant::now() + EDGE_TIME + LAST_REQUESTS + LAST_PASSED_ON);
        }
        let quiet = async {
            if has_given_away {
                // Requests that still run are passed on. Their clients may call without a break until they connect to
                // another bridge.
                sleep(EDGE_TIME).await;
            } else {
                self.no_call_runs().await;
            }
            self.stop.leave();
            sleep(LAST_REQUESTS).await;
            self.no_call_runs().await;
        };
        if timeout_at(deadline, quiet).await.is_err() {
            let usage = self.hub.usage();
            tracing::warn!(
                calls = usage.calls,
                queries = usage.queries,
                "`drain_timeout` is over: calls and queries that still run, here or elsewhere, end now"
            );
        }
    }

    async fn no_call_runs(&self) {
        let passes_on = || {
            self.cluster
                .as_ref()
                .is_some_and(|it| it.counters.is_passing_on())
        };
        while !self.hub.is_quiet() || passes_on() {
            sleep(QUIET_CHECK_INTERVAL).await;
        }
    }
}
