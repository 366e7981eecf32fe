//! One measurement of calls: a server, the load generator, and the figures that it prints.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::plan::{Cell, Plan, Route};
use super::server::{Server, pinned_command};
use crate::process::capture;

/// The cost of a call, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Processor time of the server.
    pub(super) cpu: f64,
    /// The part of it that was not spent in the kernel.
    pub(super) user: f64,
    /// Median latency.
    pub(super) p50: f64,
    /// Latency at the 99th percentile.
    pub(super) p99: f64,
}

impl Figures {
    /// Returns the measurement with the median processor time.
    pub(super) fn median(mut measurements: Vec<Self>) -> Self {
        measurements.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
        let middle = measurements.get(measurements.len() / 2);
        middle.copied().unwrap_or_default()
    }

    /// Parses a line of JSON that the load generator printed.
    fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let figure = |name| line["figures"][name].as_f64();
        Some(Self {
            cpu: figure("cpu_us")?,
            user: figure("user_us")?,
            p50: figure("p50_us")?,
            p99: figure("p99_us")?,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu,
            user,
            p50,
            p99,
        } = self;
        write!(
            f,
            "{cpu:.1} µs CPU ({user:.1} µs user), p50 {p50:.0} µs, p99 {p99:.0} µs"
        )
    }
}

/// Starts a server and runs the load generator against it.
pub(super) fn measure(programs: &Path, core: usize, plan: &Plan, cell: &Cell) -> Result<Figures> {
    let server = Server::start(programs, core, cell)?;
    let mut load = pinned_command(core);
    load.arg(programs.join("load"))
        .args(["--bridge", &server.url])
        .args(["--pid", &server.pid().to_string()])
        .args(["--target", cell.subject.name()])
        .args(["--route", cell.route.name()])
        .args(["--result", cell.result])
        .args(["--pages", &cell.pages.to_string()])
        .args(["--callers", &cell.callers.to_string()])
        .args(["--seconds", &plan.seconds_for(cell.result).to_string()])
        .args(["--warm-up", &plan.warm_up.to_string()]);
    if cell.schemas {
        load.arg("--schemas");
    }
    if !cell.receipts {
        load.args(["--receipt", "none"]);
    }
    if cell.route == Route::V1 {
        // With several pages, a call on this route must name its session.
        load.args(["--pick", "session"]);
    }
    let output = capture(&mut load, &format!("{cell}: fix the errors above"))?;
    let line = output.lines().next().unwrap_or_default();
    Figures::parse(line).with_context(|| format!("{cell}: no figures in {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_parsed_from_the_load_generators_line() {
        let line = r#"{"route":"v1","figures":{"calls":3,"cpu_us":20.5,"user_us":8.2,"p50_us":30.0,"p99_us":40.0}}"#;
        let figures = Figures::parse(line).unwrap();
        assert_eq!(
            figures.to_string(),
            "20.5 µs CPU (8.2 µs user), p50 30 µs, p99 40 µs"
        );
        assert_eq!(Figures::parse("no figures"), None);
    }

    #[test]
    fn the_median_is_one_of_the_measurements() {
        let figures = |cpu| Figures {
            cpu,
            ..Figures::default()
        };
        let median = Figures::median(vec![figures(3.0), figures(1.0), figures(2.0)]);
        assert_eq!(median, figures(2.0));
    }
}
