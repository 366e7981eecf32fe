//! The table of all runs.

use std::collections::BTreeMap;

use super::results::{Results, RunResult};
use super::row::Row;

const HEAD: &str = "| fault | NATS | runs | failed | calls | ok | other endings | twice | false | recovered |\n\
                    |---|---|---|---|---|---|---|---|---|---|\n";

/// Returns the table of the rows that have run.
pub(super) fn of(rows: &[Row], results: &Results) -> String {
    let mut table = HEAD.to_owned();
    for row in rows {
        let mut sums = Sums::default();
        results.of(row).for_each(|result| sums.add(result));
        if sums.runs > 0 {
            table += &sums.line(row);
        }
    }
    table
}

/// The sums of the runs of a row.
#[derive(Debug, Default)]
struct Sums {
    fault: String,
    runs: usize,
    failed: usize,
    calls: u64,
    ok: u64,
    endings: BTreeMap<String, u64>,
    twice: u64,
    false_endings: u64,
    recovered: Vec<f64>,
}

impl Sums {
    fn add(&mut self, result: &RunResult) {
        self.runs += 1;
        self.failed += usize::from(!result.has_passed);
        let Some((fault, sums)) = result.figures.split_once(": ") else {
            return;
        };
        fault.clone_into(&mut self.fault);
        for sum in sums.split(", ") {
            self.add_sum(sum);
        }
    }

    fn add_sum(&mut self, sum: &str) {
        if let Some(seconds) = sum.strip_prefix("recovered after ") {
            let seconds = seconds.trim_end_matches(" s").parse::<f64>();
            self.recovered.extend(seconds.ok());
            return;
        }
        let Some((count, name)) = sum.split_once(' ') else {
            return;
        };
        let Ok(count) = count.parse::<u64>() else {
            return;
        };
        let total = match name {
            "calls" => &mut self.calls,
            "ok" => &mut self.ok,
            "ran twice" => &mut self.twice,
            "false endings" => &mut self.false_endings,
            _ => match name.strip_prefix("× ") {
                Some(ending) => self.endings.entry(ending.to_owned()).or_default(),
                None => return,
            },
        };
        *total += count;
    }

    fn line(&self, row: &Row) -> String {
        let endings = self
            .endings
            .iter()
            .map(|(name, count)| format!("{count} × {name}"));
        let endings = endings.collect::<Vec<_>>().join(", ");
        let fault = if self.fault.is_empty() {
            &row.test
        } else {
            &self.fault
        };
        let shortest = self.recovered.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = self.recovered.iter().copied().fold(0.0, f64::max);
        let recovered = if self.recovered.is_empty() {
            String::new()
        } else {
            format!("{shortest:.1}–{longest:.1} s")
        };
        let Self {
            runs,
            failed,
            calls,
            ok,
            twice,
            false_endings,
            ..
        } = self;
        format!(
            "| {fault} | {} | {runs} | {failed} | {calls} | {ok} | {endings} | {twice} | \
             {false_endings} | {recovered} |\n",
            row.nats_servers
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_runs_are_added() {
        let row = Row {
            test: "nodes::kills::a".to_owned(),
            nats_servers: 1,
        };
        let mut sums = Sums::default();
        for (has_passed, figures) in [
            (
                true,
                "SIGKILL, owner: 10 calls, 8 ok, 2 × 502 NodeLost, 0 ran twice, 0 false endings, recovered after 0.41 s",
            ),
            (
                true,
                "SIGKILL, owner: 5 calls, 4 ok, 1 × reset, 0 ran twice, 0 false endings, recovered after 1.29 s",
            ),
            (false, ""),
        ] {
            let figures = figures.to_owned();
            sums.add(&RunResult {
                has_passed,
                figures,
            });
        }
        assert_eq!(
            sums.line(&row),
            "| SIGKILL, owner | 1 | 3 | 1 | 15 | 12 | 2 × 502 NodeLost, 1 × reset | 0 | 0 | 0.4–1.3 s |\n"
        );
    }
}
