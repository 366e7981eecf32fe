//! The metrics of a bridge, with their names and labels, in the text format of OpenMetrics 1.0, which
//! Prometheus reads.
//!
//! No label has a value that a page or a client can choose: the number of time series is bounded.

use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bridge_edge::connections::{ConnectionLimits, TlsAcceptor};
use bridge_edge::process_metrics;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::cluster_metrics;
use super::metric_writer::{Labels, MetricWriter, WriteSeries};
use crate::budget::{RealmClass, RefusalKind};
use crate::compat::CompatService;
use crate::counters::{CallKind, CountedEnd, DURATION_BOUNDS, ReloadOutcome};
use crate::mcp::McpService;
use crate::web::AppState;

/// The media type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of the name of each metric.
const PREFIX: &str = "mcp_web";

/// The metrics of one bridge.
pub(super) struct BridgeMetrics(Registry);

/// Reads the counters and computes the gauges of a bridge at each scrape.
struct BridgeCollector {
    state: AppState,
    mcp: McpService,
    compat: Option<Arc<CompatService>>,
    connections: ConnectionLimits,
}

impl BridgeMetrics {
    pub(super) fn new(
        state: AppState,
        mcp: McpService,
        compat: Option<Arc<CompatService>>,
        connections: ConnectionLimits,
    ) -> Self {
        let collector = BridgeCollector {
            state,
            mcp,
            compat,
            connections,
        };
        let version = env!("CARGO_PKG_VERSION");
        Self(process_metrics::registry(PREFIX, version, |registry| {
            registry.register_collector(Box::new(collector));
        }))
    }

    /// The current values.
    pub(super) fn encode(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.0);
        text
    }
}

impl fmt::Debug for BridgeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BridgeCollector")
    }
}

impl Collector for BridgeCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut metrics = MetricWriter::new(encoder);
        self.write_calls(&mut metrics)?;
        self.write_refusals(&mut metrics)?;
        self.write_keys(&mut metrics)?;
        self.write_traffic(&mut metrics)?;
        self.write_traces(&mut metrics)?;
        self.write_event_loop(&mut metrics)?;
        self.write_reloads(&mut metrics)?;
        self.write_certificates(&mut metrics)?;
        self.write_usage(&mut metrics)?;
        self.write_limits(&mut metrics)?;
        match &self.state.cluster {
            Some(cluster) => cluster_metrics::write(cluster, &mut metrics),
            None => Ok(()),
        }
    }
}

impl BridgeCollector {
    fn write_calls(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let calls = &self.state.hub.counters.calls;
        let mut totals = metrics.counters(
            "calls",
            "Rounds of calls that have ended, by what was called, outcome and error code",
        )?;
        for kind in CallKind::ALL {
            for end in CountedEnd::ALL {
                let labels = |code| {
                    [
                        ("kind", kind.as_str()),
                        ("outcome", end.as_str()),
                        ("code", code),
                    ]
                };
                if let CountedEnd::Failed(_) = end {
                    for (code, count) in calls.failures(kind) {
                        let code = code.map_or("", |code| code.as_str());
                        totals.write_counter(&labels(code), count)?;
                    }
                } else {
                    let count = calls.durations(kind, end).count();
                    totals.write_counter(&labels(""), count)?;
                }
            }
        }
        let help = "Durations of the rounds of calls, from the request to the result";
        let mut durations = metrics.describe(
            "call_duration",
            help,
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        for kind in CallKind::ALL {
            for end in CountedEnd::ALL {
                let measured = calls.durations(kind, end);
                let bounds = DURATION_BOUNDS.iter().map(|bound| bound.as_secs_f64());
                let bounds = bounds.chain([f64::INFINITY]);
                let buckets: Vec<_> = bounds.zip(measured.buckets).collect();
                let labels: Labels<'_> = &[("kind", kind.as_str()), ("outcome", end.as_str())];
                if measured.count() > 0 {
                    durations
                        .encode_family(&labels)?
                        .encode_histogram::<NoLabelSet>(
                            measured.sum.as_secs_f64(),
                            measured.count(),
                            &buckets,
                            None,
                        )?;
                }
            }
        }
        Ok(())
    }

    fn write_refusals(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let help = "Requests, pages and connections that were refused, by kind";
        let mut refusals = metrics.counters("refusals", help)?;
        for kind in RefusalKind::ALL {
            let count = self.state.hub.budgets.refusals.count(kind);
            refusals.write_counter(&[("kind", kind.as_str())], count)?;
        }
        Ok(())
    }

    fn write_keys(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let key_sets = self.state.authenticator.key_sets();
        let help = "Time since the keys of an issuer were fetched, or since the start";
        let unit = Some(&Unit::Seconds);
        let mut ages = metrics.describe("key_age", help, unit, MetricType::Gauge)?;
        for keys in &key_sets {
            let issuer = keys.issuer.to_string();
            let labels: Labels<'_> = &[("issuer", &issuer)];
            ages.encode_family(&labels)?
                .encode_gauge(&keys.age.as_secs_f64())?;
        }
        let help = "Fetches of the keys of an issuer that have failed";
        let mut failures = metrics.counters("key_fetch_failures", help)?;
        for keys in &key_sets {
            let issuer = keys.issuer.to_string();
            failures.write_counter(&[("issuer", &issuer)], keys.failed_fetches)?;
        }
        Ok(())
    }

    fn write_traffic(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let help = "Bytes of all connections, by direction";
        let (unit, kind) = (Some(&Unit::Bytes), MetricType::Counter);
        let mut traffic = metrics.describe("traffic", help, unit, kind)?;
        let bytes = &self.connections.traffic;
        traffic.write_counter(&[("direction", "received")], bytes.received_bytes())?;
        traffic.write_counter(&[("direction", "sent")], bytes.sent_bytes())
    }

    fn write_traces(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let help = "Spans of traces that have ended, by whether the collector has them";
        let counts = self.state.hub.traces().counts().unwrap_or_default();
        let mut spans = metrics.counters("trace_spans", help)?;
        spans.write_counter(&[("outcome", "sent")], counts.sent)?;
        spans.write_counter(&[("outcome", "dropped")], counts.dropped)?;
        spans.write_counter(&[("outcome", "failed")], counts.failed)
    }

    fn write_event_loop(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let event_loop = &self.state.hub.counters.event_loop;
        metrics
            .counters("stalls", "Times in which the bridge itself did not run")?
            .encode_counter::<NoLabelSet, u64, f64>(&event_loop.stalls(), None)?;
        let help = "How late the timer of the bridge has woken up the last time";
        metrics
            .describe(
                "timer_lateness",
                help,
                Some(&Unit::Seconds),
                MetricType::Gauge,
            )?
            .encode_gauge(&event_loop.lateness().as_secs_f64())
    }

    fn write_reloads(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let reloads = &self.state.hub.counters.reloads;
        let help = "Reloads of the settings, by outcome";
        let mut totals = metrics.counters("config_reloads", help)?;
        for outcome in ReloadOutcome::ALL {
            totals.write_counter(&[("outcome", outcome.as_str())], reloads.get(outcome))?;
        }
        let help = "When the settings were loaded without an error the last time, as Unix time";
        metrics
            .describe(
                "config_last_reload_success_timestamp",
                help,
                Some(&Unit::Seconds),
                MetricType::Gauge,
            )?
            .encode_gauge(&reloads.last_success())
    }

    /// Writes no value of what the bridge does not encrypt.
    fn write_certificates(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let help = "When a certificate of the bridge expires, in Unix time, by its setting";
        let (name, unit) = ("tls_certificate_expiry_timestamp", Some(&Unit::Seconds));
        let mut expiry = metrics.describe(name, help, unit, MetricType::Gauge)?;
        let peers = self
            .state
            .cluster
            .as_ref()
            .and_then(|it| it.certificate_expires());
        let clients = self.state.tls.as_ref().map(TlsAcceptor::expires);
        for (setting, expires) in [("tls_cert", clients), ("cluster_tls_cert", peers)] {
            if let Some(expires) = expires {
                let expires = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
                expiry
                    .encode_family(&[("setting", setting)])?
                    .encode_gauge(&expires.as_secs())?;
            }
        }
        Ok(())
    }

    fn write_usage(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let usage = self.state.hub.usage();
        let help = "Tokens that the bridge knows, by what they have";
        let mut realms = metrics.gauges("realms", help)?;
        for class in RealmClass::ALL {
            realms.write_gauge(&[("class", class.as_str())], usage.realms[class as usize])?;
        }
        let mut sessions = metrics.gauges("sessions", "Sessions of pages, by state")?;
        sessions.write_gauge(&[("state", "connected")], usage.connected_sessions)?;
        sessions.write_gauge(&[("state", "away")], usage.away_sessions)?;
        let mut sockets = metrics.gauges("page_sockets", "Open sockets of pages, by state")?;
        sockets.write_gauge(&[("state", "authenticated")], usage.authenticated_sockets)?;
        sockets.write_gauge(&[("state", "pending")], usage.pending_sockets)?;
        let compat = self.compat.as_ref();
        let compat_sessions = compat.map_or(0, |compat| compat.sessions.count());
        let mcp_sessions = self.mcp.session_count() + compat_sessions;
        metrics.gauge(
            "connections",
            "Open connections, including those of pages",
            self.connections.slots.open_count(),
        )?;
        metrics.gauge("mcp_sessions", "Open MCP sessions", mcp_sessions)?;
        metrics.gauge("running_calls", "Calls that run in pages", usage.calls)?;
        metrics.gauge(
            "running_queries",
            "Queries of pages that are running",
            usage.queries,
        )?;
        let help = "Bytes that are kept, by what they are kept for";
        let mut pools = metrics.describe("pool", help, Some(&Unit::Bytes), MetricType::Gauge)?;
        for (pool, bytes) in [
            ("kept_results", usage.kept_result_bytes),
            ("replay", self.mcp.replay_bytes()),
            ("unread_answers", usage.unread_answer_bytes),
            ("memory", usage.memory_bytes),
            ("waiting_work", usage.waiting_work_bytes),
            ("catalogues", usage.catalogue_bytes),
            ("outboxes", usage.outbox_bytes),
        ] {
            pools.write_gauge(&[("pool", pool)], bytes)?;
        }
        let mut queues = metrics.gauges("queue_length", "What waits, by queue")?;
        queues.write_gauge(&[("queue", "outboxes")], usage.outbox_messages)?;
        queues.write_gauge(&[("queue", "cpu_pool")], usage.waiting_work)
    }

    fn write_limits(&self, metrics: &mut MetricWriter<'_>) -> fmt::Result {
        let config = &self.state.hub.config;
        let shared = &self.state.hub.budgets.limits;
        let (pages, results) = (&config.page_limits, &config.results);
        let help = "The limits that all clients share, by setting";
        let mut limits = metrics.gauges("limit", help)?;
        for (setting, limit) in [
            ("max_realms", shared.realms),
            ("max_catalogues", shared.catalogues),
            ("max_pending_pages", shared.pending_pages),
            ("max_connections", shared.connections),
            ("max_mcp_sessions", shared.mcp_sessions),
            ("max_kept_bytes", results.max_kept_bytes),
            ("max_replay_bytes", config.mcp_sessions.max_replay_bytes),
            ("max_unread_bytes", results.max_unread_bytes),
            ("max_catalogue_bytes", pages.max_catalogue_bytes),
            (
                "max_memory_bytes",
                self.state.hub.budgets.memory.max_bytes(),
            ),
        ] {
            limits.write_gauge(&[("setting", setting)], limit)?;
        }
        Ok(())
    }
}
