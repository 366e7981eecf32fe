//! The metrics of an agent, in the text format of OpenMetrics 1.0, which Prometheus reads. Only this
//! module uses the crate `prometheus-client`.
//!
//! No label has a value that a page or a model can choose: the number of time series is bounded.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bridge_protocol::TokenUsage;
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
}

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
        let mut registry = Registry::with_prefix(PREFIX);
        let calls = Family::<CallLabels, Counter>::default();
        let new_histogram: fn() -> Histogram = || Histogram::new(DURATION_BOUNDS);
        let call_seconds = Family::<SourceLabels, Histogram>::new_with_constructor(new_histogram);
        let queries = Family::<OutcomeLabels, Counter>::default();
        let tokens = Family::<KindLabels, Counter>::default();
        let cost = Counter::<f64, AtomicU64>::default();
        let running = Gauge::default();
        let source_states = Family::<SourceStateLabels, Gauge>::default();
        let lost_audit_lines = Counter::default();
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
        }
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
    fn metrics_are_the_text_of_openmetrics() {
        let metrics = Metrics::new();
        metrics.count_call("notes", "denied", Duration::from_millis(3));
        metrics.count_call("page", "ok", Duration::from_secs(200));
        let tokens = TokenUsage {
            input: 7,
            ..TokenUsage::default()
        };
        metrics.count_query("answered", tokens, 0.25);
        metrics.set_source_state("notes", "running", true);
        metrics.set_source_state("notes", "failed", false);
        let text = metrics.encode(2);
        for line in [
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
            "# EOF",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
    }
}
