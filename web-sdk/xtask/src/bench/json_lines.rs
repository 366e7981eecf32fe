//! Programs that measure and print their figures as lines of JSON.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::capture;
use crate::step::{Outcome, step};

/// Runs a program with `--json`, and returns and prints its lines.
pub(super) fn run(description: &str, mut command: Command) -> Result<Vec<Value>> {
    command.arg("--json");
    step(description, || {
        let output = capture(
            &mut command,
            &format!("{description}: fix the errors above"),
        )?;
        let lines = output.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines
            .collect::<Result<_, _>>()
            .with_context(|| format!("{description}: no figures in {output:?}"))?;
        for line in &lines {
            println!("    {line}");
        }
        Ok(Outcome::Done(lines))
    })
}

/// Returns the number in a JSON value, or 0.
pub(super) fn as_number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}
