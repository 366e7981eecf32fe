//! The metrics of an agent, in the text format of OpenMetrics 1.0, which Prometheus reads. Only this
//! module uses the crate `prometheus-client`.
//!
//! No label has a value that a page or a model can choose: the number of time series is bounded.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bridge_edge::{ResourceUsage, process_metrics};
use bridge_protocol::TokenUsage;
use bridge_traces::SpanCounts;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of the name of each metric.
const PREFIX: &str = "mcp_web_agent";

/// The upper bounds of the durations that are counted apart, in seconds.
const DURATION_BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 120.0,
];

/// The metrics of one agent.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Family<SourceLabels, Histogram>,
    queries: Family<OutcomeLabels, Counter>,
    running: Gauge,
    source_states: Family<SourceStateLabels, Gauge>,
    tokens: Family<KindLabels, Counter>,
    cost: Counter<f64, AtomicU64>,
    lost_audit_lines: Counter,
    source_start: SourceGauge,
    source_cpu: SourceGauge,
    source_memory: SourceGauge,
    trace_spans: Family<OutcomeLabels, Counter>,
}

/// A value of each source that has one.
type SourceGauge = Family<SourceLabels, Gauge<f64, AtomicU64>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    source: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceLabels {
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceStateLabels {
    source: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

impl Metrics {
    /// Creates metrics in which nothing is counted yet.
    pub fn new() -> Self {
        let calls = Family::<CallLabels, Counter>::default();
        let new_histogram: fn() -> Histogram = || Histogram::new(DURATION_BOUNDS);
        let call_seconds = Family::<SourceLabels, Histogram>::new_with_constructor(new_histogram);
        let queries = Family::<OutcomeLabels, Counter>::default();
        let tokens = Family::<KindLabels, Counter>::default();
        let cost = Counter::<f64, AtomicU64>::default();
        let running = Gauge::default();
        let source_states = Family::<SourceStateLabels, Gauge>::default();
        let lost_audit_lines = Counter::default();
        let source_start = SourceGauge::default();
        let source_cpu = SourceGauge::default();
        let source_memory = SourceGauge::default();
        let trace_spans = Family::<OutcomeLabels, Counter>::default();
        let version = env!("CARGO_PKG_VERSION");
        let registry = process_metrics::registry(PREFIX, version, |registry| {
            registry.register(
                "tool_calls",
                "Calls of tools, by source (`page` for those of pages) and outcome",
                calls.clone(),
            );
            registry.register_with_unit(
                "tool_call_duration",
                "Time of calls of tools, with the time in which a person is asked",
                Unit::Seconds,
                call_seconds.clone(),
            );
            registry.register("queries", "Queries that have ended", queries.clone());
            registry.register(
                "queries_running",
                "Queries that are being answered",
                running.clone(),
            );
            registry.register(
                "source_state",
                "1 for the state of a source: `idle`, `running`, `failed` or `off`",
                source_states.clone(),
            );
            registry.register(
                "model_tokens",
                "Tokens of models; `cached` are part of `input`, `thinking` of `output`",
                tokens.clone(),
            );
            registry.register(
                "model_cost_usd",
                "Cost of the tokens in US dollars, where the price of the model is known",
                cost.clone(),
            );
            registry.register(
                "audit_lines_lost",
                "Calls of pages that are not in the audit file, because it could not be written",
                lost_audit_lines.clone(),
            );
            registry.register_with_unit(
                "source_start_time",
                "When the oldest process of a source was started, since the Unix epoch",
                Unit::Seconds,
                source_start.clone(),
            );
            registry.register_with_unit(
                "source_cpu",
                "Processor time of the processes of a source that run now",
                Unit::Seconds,
                source_cpu.clone(),
            );
            registry.register_with_unit(
                "source_resident_memory",
                "Memory of the processes of a source",
                Unit::Bytes,
                source_memory.clone(),
            );
            registry.register(
                "trace_spans",
                "Spans of traces that have ended, by whether the collector has them",
                trace_spans.clone(),
            );
        });
        Self {
            registry,
            calls,
            call_seconds,
            queries,
            running,
            source_states,
            tokens,
            cost,
            lost_audit_lines,
            source_start,
            source_cpu,
            source_memory,
            trace_spans,
        }
    }

    /// Sets what the processes of a configured source use.
    pub(crate) fn set_source_usage(&self, source: &str, usage: ResourceUsage) {
        let labels = SourceLabels {
            source: source.to_owned(),
        };
        let set = |gauges: &SourceGauge, value| {
            gauges.get_or_create(&labels).set(value);
        };
        set(&self.source_start, usage.started_at as f64);
        set(&self.source_cpu, usage.cpu_time.as_secs_f64());
        set(&self.source_memory, usage.resident_bytes as f64);
    }

    /// Counts a call of a tool. `source` is configured, or `page`.
    pub fn count_call(&self, source: &str, outcome: &'static str, duration: Duration) {
        let source = source.to_owned();
        let labels = SourceLabels {
            source: source.clone(),
        };
        self.call_seconds
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
        let labels = CallLabels { source, outcome };
        self.calls.get_or_create(&labels).inc();
    }

    /// Removes the states of all sources, and what their processes use.
    pub(crate) fn clear_sources(&self) {
        self.source_states.clear();
        for gauges in [&self.source_start, &self.source_cpu, &self.source_memory] {
            gauges.clear();
        }
    }

    /// Sets whether a configured source is in a state.
    pub(crate) fn set_source_state(&self, source: &str, state: &'static str, is_current: bool) {
        let source = source.to_owned();
        let labels = SourceStateLabels { source, state };
        let gauge = self.source_states.get_or_create(&labels);
        gauge.set(i64::from(is_current));
    }

    /// Counts a query that has ended, with its cost in US dollars.
    pub fn count_query(&self, outcome: &'static str, tokens: TokenUsage, cost: f64) {
        self.cost.inc_by(cost);
        self.queries.get_or_create(&OutcomeLabels { outcome }).inc();
        for (kind, count) in [
            ("input", tokens.input),
            ("output", tokens.output),
            ("cached", tokens.cached),
            ("thinking", tokens.thinking),
        ] {
            self.tokens
                .get_or_create(&KindLabels { kind })
                .inc_by(count);
        }
    }

    /// Counts a call that is not in the audit file.
    pub(crate) fn count_lost_audit_line(&self) {
        self.lost_audit_lines.inc();
    }

    /// Sets how many spans of traces have had which end.
    pub fn set_trace_spans(&self, counts: SpanCounts) {
        for (outcome, count) in [
            ("sent", counts.sent),
            ("dropped", counts.dropped),
            ("failed", counts.failed),
        ] {
            let counter = self.trace_spans.get_or_create(&OutcomeLabels { outcome });
            counter.inner().store(count, Ordering::Relaxed);
        }
    }

    /// Returns the current values. `running` is the number of running queries.
    pub fn encode(&self, running: usize) -> String {
        self.running.set(i64::try_from(running).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_of_an_example_alert_is_exported() {
        let alerts = include_str!("../../../docs/deploy/alerts.yml");
        let metrics = Metrics::new();
        metrics.set_source_state("notes", "failed", true);
        let text = metrics.encode(0);
        let is_in_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let words = alerts.split(|it| !is_in_name(it));
        let named: Vec<_> = words.filter(|it| it.starts_with(PREFIX)).collect();
        assert!(named.len() >= 2, "{named:?}");
        for metric in named {
            assert!(text.contains(&format!("\n{metric}")), "{metric} in {text}");
        }
    }

    #[test]
    fn metrics_are_the_text_of_openmetrics() {
        let metrics = Metrics::new();
        metrics.count_call("notes", "denied", Duration::from_millis(3));
        metrics.count_call("page", "ok", Duration::from_secs(200));
        let tokens = TokenUsage {
            input: 7,
            ..TokenUsage::default()
        };
        metrics.count_query("answered", tokens, 0.25);
        let usage = ResourceUsage {
            started_at: 1_700_000_000,
            cpu_time: Duration::from_millis(1500),
            resident_bytes: 4096,
            ..ResourceUsage::default()
        };
        // As of a source that a reload removes.
        metrics.set_source_usage("removed", usage);
        metrics.set_source_state("removed", "running", true);
        metrics.clear_sources();
        metrics.set_source_usage("notes", usage);
        metrics.set_source_state("notes", "running", true);
        metrics.set_source_state("notes", "failed", false);
        metrics.set_trace_spans(SpanCounts {
            sent: 5,
            ..SpanCounts::default()
        });
        let text = metrics.encode(2);
        assert!(!text.contains("removed"), "{text}");
        assert!(text.contains("\nprocess_resident_memory_bytes "), "{text}");
        for line in [
            concat!(
                "mcp_web_agent_build_info{version=\"",
                env!("CARGO_PKG_VERSION"),
                "\"} 1"
            ),
            r#"mcp_web_agent_source_start_time_seconds{source="notes"} 1700000000.0"#,
            r#"mcp_web_agent_source_cpu_seconds{source="notes"} 1.5"#,
            r#"mcp_web_agent_source_resident_memory_bytes{source="notes"} 4096.0"#,
            r#"mcp_web_agent_tool_calls_total{source="notes",outcome="denied"} 1"#,
            r#"mcp_web_agent_tool_call_duration_seconds_bucket{le="0.005",source="notes"} 1"#,
            r#"mcp_web_agent_tool_call_duration_seconds_count{source="page"} 1"#,
            r#"mcp_web_agent_queries_total{outcome="answered"} 1"#,
            "mcp_web_agent_queries_running 2",
            r#"mcp_web_agent_source_state{source="notes",state="running"} 1"#,
            r#"mcp_web_agent_source_state{source="notes",state="failed"} 0"#,
            r#"mcp_web_agent_model_tokens_total{kind="input"} 7"#,
            "mcp_web_agent_model_cost_usd_total 0.25",
            "mcp_web_agent_audit_lines_lost_total 0",
            r#"mcp_web_agent_trace_spans_total{outcome="sent"} 5"#,
            r#"mcp_web_agent_trace_spans_total{outcome="dropped"} 0"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
    }
}
