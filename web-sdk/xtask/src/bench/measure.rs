use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::plan::{Cell, Plan, Route, Subject};
use super::server::{Server, pinned_command};
use crate::process::capture;

/// What a call costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Processor time of the server, in microseconds.
    pub(super) cpu: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

impl Figures {
    /// That of several which cost as much as half of them.
    pub(super) fn median(mut several: Vec<Self>) -> Self {
        several.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
        several.get(several.len() / 2).copied().unwrap_or_default()
    }

    fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let figure = |name| line["figures"][name].as_f64();
        Some(Self {
            cpu: figure("cpu_us")?,
            p50: figure("p50_us")?,
            p99: figure("p99_us")?,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, p50, p99 } = self;
        write!(f, "{cpu:.1} µs CPU, p50 {p50:.0} µs, p99 {p99:.0} µs")
    }
}

/// Starts a server and puts load on it.
pub(super) fn measure(programs: &Path, core: usize, plan: &Plan, cell: &Cell) -> Result<Figures> {
    let server = Server::start(programs, core, cell)?;
    let mut load = pinned_command(core);
    load.arg(programs.join("load"))
        .args(["--bridge", &server.url])
        .args(["--pid", &server.pid().to_string()])
        .args(["--target", target_argument(cell.subject)])
        .args(["--route", cell.route.name()])
        .args(["--result", cell.result])
        .args(["--pages", &cell.pages.to_string()])
        .args(["--callers", &cell.callers.to_string()])
        .args(["--seconds", &plan.seconds_for(cell.result).to_string()])
        .args(["--warm-up", &plan.warm_up.to_string()]);
    if cell.schemas {
        load.arg("--schemas");
    }
    if cell.route == Route::V1 {
        // There, a call among several pages must name its session.
        load.args(["--pick", "session"]);
    }
    let printed = capture(&mut load, &format!("{cell}: see what is wrong above"))?;
    let line = printed.lines().next().unwrap_or_default();
    Figures::parse(line).with_context(|| format!("{cell}: no figures in {line:?}"))
}

fn target_argument(subject: Subject) -> &'static str {
    match subject {
        Subject::Floor => "floor",
        Subject::FloorMcp => "floor-mcp",
        Subject::Bridge => "bridge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_generators_line() {
        let line =
            r#"{"route":"v1","figures":{"calls":3,"cpu_us":20.5,"p50_us":30.0,"p99_us":40.0}}"#;
        let figures = Figures::parse(line).unwrap();
        assert_eq!(figures.to_string(), "20.5 µs CPU, p50 30 µs, p99 40 µs");
        assert_eq!(Figures::parse("no figures"), None);
    }

    #[test]
    fn the_median_is_one_of_them() {
        let of = |cpu| Figures {
            cpu,
            ..Figures::default()
        };
        assert_eq!(Figures::median(vec![of(3.0), of(1.0), of(2.0)]), of(2.0));
    }
}
