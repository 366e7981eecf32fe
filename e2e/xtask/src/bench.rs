//! `cargo xtask bench`: builds `mcp-web` and the laboratory, and lets the laboratory measure each
//! section of docs/benchmarks.md.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::chromium::Chromium;
use crate::process::{cargo, run as run_command, try_capture};
use crate::step::{Outcome, step};
use crate::{Workspace, apt, document, nats_server, node, page_tools_pages, sdk};

const DOCUMENT: &str = "docs/benchmarks.md";

/// The arguments of cargo. One call builds all programs, because cargo unites the features of what it
/// builds together.
const BUILD: &str = "build --release --package mcp-web-cli --package lab --bin mcp-web --bin lab";

/// The scheduling of the victim of attacks: before everything else on the machine, so that its times
/// are those of the bridge. It needs a few percent of a core.
const VICTIM_PRIORITY: [&str; 3] = ["--reset-on-fork", "--rr", "2"];

/// The sections to measure.
#[derive(Debug, Args)]
pub struct Options {
    /// Take a few minutes with few pages, and leave docs/benchmarks.md unchanged
    #[arg(long)]
    quick: bool,
    /// Only these sections of docs/benchmarks.md, as in `--only calls,idle` (all by default)
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
}

/// A section of docs/benchmarks.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// Calls with small results, by client and by route
    Calls,
    /// Calls with large results
    Large,
    /// Pages that do nothing
    Idle,
    /// A restart while pages are connected
    Restart,
    /// Calls and pages at another bridge than that of their token
    Cluster,
    /// MCP sessions
    Sessions,
    /// Queries from pages to an agent
    Queries,
    /// Costs of page tools in tokens and time
    PageTools,
    /// Attacks, and their effect on a client at another address
    Attacks,
}

impl Section {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the command that measures this section and writes it into the document.
    fn command(self) -> String {
        format!("cargo xtask bench --only {}", self.name())
    }
}

/// Builds the programs, measures each section, prints it and writes it into the document.
///
/// # Errors
///
/// Returns an error if a program cannot be built or started, or if an answer is wrong.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    sdk::ensure(workspace)?;
    build(workspace)?;
    for &section in Section::value_variants() {
        if !options.only.is_empty() && !options.only.contains(&section) {
            continue;
        }
        let text = measure(workspace, section, options.quick)?;
        println!("\n{text}");
        if !options.quick {
            document::write_section(workspace, DOCUMENT, &section.command(), &text)?;
        }
    }
    Ok(())
}

fn build(workspace: &Workspace) -> Result<()> {
    apt::ensure_program("make")?;
    step("building the program and the laboratory", || {
        let mut build = cargo(workspace);
        build.args(BUILD.split(' '));
        run_command(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })
}

/// Lets the laboratory measure a section, and returns its text.
fn measure(workspace: &Workspace, section: Section, quick: bool) -> Result<String> {
    let lab = workspace.path("target/release/lab");
    let mut command = Command::new(&lab);
    let mut remark = "";
    match section {
        Section::PageTools => {
            let chromium = Chromium::ensure()?;
            page_tools_pages::ensure(workspace)?;
            command
                .env("MCP_WEB_NODE", node::ensure_node(workspace)?)
                .env("MCP_WEB_CHROMIUM", chromium.browser)
                .env("MCP_WEB_CHROMEDRIVER", chromium.driver);
        }
        Section::Cluster => {
            command.env("MCP_WEB_NATS_SERVER", nats_server::ensure(workspace)?);
        }
        Section::Attacks => {
            if try_capture(Command::new("chrt").args(VICTIM_PRIORITY).arg("true")).is_some() {
                command = Command::new("chrt");
                command.args(VICTIM_PRIORITY).arg(&lab);
            } else {
                remark = " The victim had no priority, because `chrt --rr` was not allowed.";
            }
        }
        _ => {}
    }
    command.arg(section.name());
    if quick {
        command.arg("--quick");
    }
    step(&format!("measuring {}", section.name()), || {
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output();
        let output = output.with_context(|| format!("{} does not start", lab.display()))?;
        ensure!(
            output.status.success(),
            "the laboratory failed: fix the error above"
        );
        let text = String::from_utf8(output.stdout)?;
        Ok(Outcome::Done(text.replacen(
            "\n\n",
            &format!("{remark}\n\n"),
            1,
        )))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_document_has_a_section_for_each_command() {
        let text = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        for section in Section::value_variants() {
            let command = section.command();
            let replaced = document::replace_section(&text, &command, "");
            assert!(replaced.is_some(), "{command}");
        }
    }
}
