//! `cargo xtask clients`: runs third-party MCP clients and writes the table of what they do.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::client_table::{self, COMMAND, DOCUMENT, Table};
use crate::test::Suite;
use crate::{Workspace, document, folder, node, python, test};

/// The packages of the newest Python clients: first those on the MCP SDK 1, then those on the MCP
/// SDK 2.
const NEWEST_PYTHON: [&[&str]; 2] = [
    &["mcp<2", "langchain-mcp-adapters", "mcp-proxy"],
    &["mcp", "fastmcp", "openai-agents"],
];

/// The clients to run.
#[derive(Debug, Args)]
pub struct Options {
    /// Run the newest versions instead, and print what differs from the pinned ones; without the further
    /// clients
    #[arg(long)]
    newest: bool,
    /// Run only the further clients, which the tests leave out because they take long
    #[arg(long, conflicts_with = "newest")]
    further: bool,
}

/// Runs the clients, and returns whether all of them passed.
pub fn run(workspace: &Workspace, options: &Options) -> bool {
    let result = if options.newest {
        run_newest(workspace)
    } else if options.further {
        run_pinned(workspace, &[(Suite::FurtherClients, Table::Further)])
    } else {
        let each_run = (Suite::Clients, Table::EachRun);
        run_pinned(
            workspace,
            &[each_run, (Suite::FurtherClients, Table::Further)],
        )
    };
    result.unwrap_or_else(|error| {
        println!("error: {error:#}");
        false
    })
}

fn run_pinned(workspace: &Workspace, selected: &[(Suite, Table)]) -> Result<bool> {
    for (_, table) in selected {
        folder::remove(&table.rows_folder(workspace))?;
    }
    let suites: Vec<_> = selected.iter().map(|(suite, _)| *suite).collect();
    let counts = test::run_clients(workspace, &suites, |_| {})?;
    println!("{counts}");
    if counts.failed == 0 {
        for (_, table) in selected {
            let text = table.load_text(workspace)?;
            document::write_section(workspace, DOCUMENT, table.command(), &text)?;
        }
        println!("==> {DOCUMENT} is written");
    }
    Ok(counts.failed == 0)
}

/// Runs the newest versions, and prints how their results differ from those of the pinned versions.
fn run_newest(workspace: &Workspace) -> Result<bool> {
    let pinned = client_table::load_rows(&Table::EachRun.rows_folder(workspace))?;
    if pinned.is_empty() {
        bail!("there are no results of the pinned versions: run `{COMMAND}` first");
    }
    let node = node::install_newest(workspace, "e2e/clients/node", "clients-newest-node")?;
    let environment = |major: usize| -> Result<PathBuf> {
        let name = format!("clients-newest-python-{major}");
        let home = workspace.tools().join(name);
        let packages: Vec<_> = NEWEST_PYTHON[major - 1].iter().map(Into::into).collect();
        python::create_environment(&home, &packages)?;
        Ok(home)
    };
    let python = [environment(1)?, environment(2)?];
    let rows = workspace.path("target/clients/newest-rows");
    folder::remove(&rows)?;
    let counts = test::run_clients(workspace, &[Suite::Clients], |tools| {
        tools.clients = Some(test::ClientPackages {
            node,
            python,
            rows: rows.clone(),
        });
    })?;
    println!("{counts}");
    let differences = client_table::differences(&pinned, &client_table::load_rows(&rows)?);
    if differences.is_empty() {
        println!("==> the newest versions do what the pinned ones do");
    } else {
        println!("==> what differs\n{}", differences.join("\n"));
    }
    Ok(counts.failed == 0)
}
