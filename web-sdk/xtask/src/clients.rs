//! `cargo xtask clients`: the MCP clients that nobody here wrote, and the table of what they do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::{Workspace, document, node, python, test};

/// The test program that runs them.
pub(crate) const TARGET: &str = "clients";

const DOCUMENT: &str = "docs/clients.md";

const COMMAND: &str = "cargo xtask clients";

/// The steps, as they are written down and as they are shown.
const STEPS: [(&str, &str); 10] = [
    ("list", "list"),
    ("call", "call"),
    ("wrong", "wrong call"),
    ("picture", "picture"),
    ("large", "large result"),
    ("list_changed", "list changed"),
    ("progress", "progress"),
    ("cancel", "cancel"),
    ("elicitation", "elicitation"),
    ("leaving", "leaving"),
];

/// What the newest versions are asked for, by the environment of the MCP SDK that they stand on.
const NEWEST_PYTHON: [&[&str]; 2] = [
    &["mcp<2", "langchain-mcp-adapters", "mcp-proxy"],
    &["mcp", "fastmcp", "openai-agents"],
];

/// What to run.
#[derive(Debug, Args)]
pub struct Options {
    /// Run the newest versions instead, and print what differs from the pinned ones
    #[arg(long)]
    newest: bool,
}

/// Runs the clients, and says whether all is well.
pub fn run(workspace: &Workspace, options: &Options) -> bool {
    let ran = match options.newest {
        true => newest(workspace),
        false => pinned(workspace),
    };
    ran.unwrap_or_else(|error| {
        println!("error: {error:#}");
        false
    })
}

fn pinned(workspace: &Workspace) -> Result<bool> {
    remove_rows(&rows_folder(workspace))?;
    let counts = test::run_clients(workspace, |_| {})?;
    println!("{counts}");
    if counts.failed == 0 {
        let table = table(&load_rows(&rows_folder(workspace))?);
        document::write_section(workspace, DOCUMENT, COMMAND, &table)?;
        println!("==> {DOCUMENT} is written");
    }
    Ok(counts.failed == 0)
}

/// Runs the newest versions, and prints how what they did differs from what the pinned ones did.
fn newest(workspace: &Workspace) -> Result<bool> {
    let pinned = load_rows(&rows_folder(workspace))?;
    if pinned.is_empty() {
        bail!("nothing is known of the pinned versions: run `{COMMAND}` first");
    }
    let node = node::install_newest(workspace, "e2e/clients/node", "clients-newest-node")?;
    let environment = |major: usize| -> Result<PathBuf> {
        let home = workspace
            .tools()
            .join(format!("clients-newest-python-{major}"));
        let packages: Vec<_> = NEWEST_PYTHON[major - 1].iter().map(Into::into).collect();
        python::create_environment(&home, &packages)?;
        Ok(home)
    };
    let python = [environment(1)?, environment(2)?];
    let rows = workspace.path("target/clients/newest-rows");
    remove_rows(&rows)?;
    let counts = test::run_clients(workspace, |tools| {
        tools.clients = Some(test::ClientPackages {
            node,
            python,
            rows: rows.clone(),
        });
    })?;
    println!("{counts}");
    let differences = differences(&pinned, &load_rows(&rows)?);
    match differences.is_empty() {
        true => println!("==> the newest versions do what the pinned ones do"),
        false => println!("==> what differs\n{}", differences.join("\n")),
    }
    Ok(counts.failed == 0)
}

/// Where the clients write down what they did.
pub(crate) fn rows_folder(workspace: &Workspace) -> PathBuf {
    workspace.path("target/clients/rows")
}

/// Fails when the document does not say what the clients did.
pub(crate) fn check_document(workspace: &Workspace) -> Result<()> {
    let table = table(&load_rows(&rows_folder(workspace))?);
    if document::has_section(workspace, DOCUMENT, COMMAND, &table)? {
        return Ok(());
    }
    bail!("{DOCUMENT} does not say what the clients did: run `{COMMAND}`, and see what changed")
}

fn remove_rows(rows: &Path) -> Result<()> {
    match fs::remove_dir_all(rows) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("make {} writable", rows.display()))
        }
        _ => Ok(()),
    }
}

/// The rows by their names, which say their order.
fn load_rows(folder: &Path) -> Result<BTreeMap<String, Value>> {
    let mut rows = BTreeMap::new();
    let Ok(files) = fs::read_dir(folder) else {
        return Ok(rows);
    };
    for file in files {
        let path = file?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path)?;
        let row = serde_json::from_str(&text);
        rows.insert(
            name,
            row.with_context(|| format!("{} is no row", path.display()))?,
        );
    }
    Ok(rows)
}

/// The table, with what is to be known of its cells below it.
fn table(rows: &BTreeMap<String, Value>) -> String {
    let mut notes: Vec<&str> = Vec::new();
    let names: Vec<_> = STEPS.iter().map(|(_, shown)| *shown).collect();
    let mut text = format!("| client | over | MCP | {} |\n", names.join(" | "));
    text += &format!("|---|---|---|{}\n", "---|".repeat(STEPS.len()));
    for row in rows.values() {
        let of = |key: &str| row[key].as_str().unwrap_or("not told");
        text += &format!("| {} | {} | {} |", of("client"), of("over"), of("protocol"));
        for (step, _) in STEPS {
            let (mark, note) = display_cell(&row["cells"][step]);
            let number = note.map(|note| {
                let known = notes.iter().position(|known| *known == note);
                known.unwrap_or_else(|| {
                    notes.push(note);
                    notes.len() - 1
                }) + 1
            });
            let number = number.map_or(String::new(), |number| format!(" {number}"));
            text += &format!(" {mark}{number} |");
        }
        text.push('\n');
    }
    text.push('\n');
    for (at, note) in notes.iter().enumerate() {
        text += &format!("{}. {note}\n", at + 1);
    }
    text
}

/// How a cell is shown, and what is to be known of it.
fn display_cell(cell: &Value) -> (&str, Option<&str>) {
    match cell {
        Value::String(works) if works == "works" => ("yes", None),
        Value::Object(cell) => match cell.iter().next() {
            Some((kind, note)) if kind == "works_but" => ("yes", note.as_str()),
            Some((kind, note)) if kind == "lacks" => ("no", note.as_str()),
            Some((_, note)) => ("failed", note.as_str()),
            None => ("unknown", None),
        },
        _ => ("unknown", None),
    }
}

fn differences(pinned: &BTreeMap<String, Value>, newest: &BTreeMap<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, before) in pinned {
        let Some(after) = newest.get(name) else {
            lines.push(format!("{name}: it did not come to its end"));
            continue;
        };
        let mut changed = Vec::new();
        for key in ["client", "protocol"] {
            if before[key] != after[key] {
                changed.push(format!("{key} {} → {}", before[key], after[key]));
            }
        }
        for (step, _) in STEPS {
            let (before, after) = (&before["cells"][step], &after["cells"][step]);
            if before != after {
                changed.push(format!("{step}: {before} → {after}"));
            }
        }
        if !changed.is_empty() {
            lines.push(format!("{name}: {}", changed.join("; ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(client: &str, call: Value) -> Value {
        let mut cells: serde_json::Map<_, _> = STEPS
            .iter()
            .map(|(step, _)| ((*step).to_owned(), json!("works")))
            .collect();
        cells["call"] = call;
        json!({ "client": client, "over": "HTTP", "protocol": null, "cells": cells })
    }

    #[test]
    fn notes_of_cells_are_listed_once_below_the_table() {
        let lacks = json!({ "lacks": "it cannot" });
        let rows = BTreeMap::from([
            ("1".to_owned(), row("a 1", lacks.clone())),
            ("2".to_owned(), row("b 2", json!({ "works_but": "slowly" }))),
            ("3".to_owned(), row("c 3", lacks)),
        ]);
        let table = table(&rows);
        assert!(
            table.contains("| a 1 | HTTP | not told | yes | no 1 | yes |"),
            "{table}"
        );
        assert!(
            table.contains("| b 2 | HTTP | not told | yes | yes 2 | yes |"),
            "{table}"
        );
        assert!(
            table.contains("| c 3 | HTTP | not told | yes | no 1 | yes |"),
            "{table}"
        );
        assert!(table.ends_with("\n\n1. it cannot\n2. slowly\n"), "{table}");
    }

    #[test]
    fn differences_and_missing_rows_are_reported() {
        let rows =
            |client: &str, call: Value| BTreeMap::from([("1".to_owned(), row(client, call))]);
        let pinned = rows("a 1", json!("works"));
        assert!(differences(&pinned, &pinned).is_empty());
        let newest = rows("a 2", json!({ "failed": "no" }));
        let lines = differences(&pinned, &newest);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("a 2") && lines[0].contains("call:"),
            "{lines:?}"
        );
        let lines = differences(&pinned, &BTreeMap::new());
        assert!(lines[0].contains("did not come to its end"), "{lines:?}");
    }

    #[test]
    fn the_document_has_a_place_for_the_table() {
        let text = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        assert!(document::replace_section(&text, COMMAND, "").is_some());
    }
}
