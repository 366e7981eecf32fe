//! The tables in docs/clients.md: what third-party MCP clients did when the tests ran them.
//!
//! The test program writes a row for each client as JSON; this module loads, formats and compares
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{Workspace, document};

/// The document with the table.
pub(crate) const DOCUMENT: &str = "docs/clients.md";

/// The command that writes the table.
pub(crate) const COMMAND: &str = "cargo xtask clients";

/// The command that writes the table of the further clients.
const FURTHER_COMMAND: &str = "cargo xtask clients --further";

/// The number of steps of the further clients: the first ones.
const BASIC_STEPS: usize = 4;

/// The steps of each client: their keys in the rows, and their titles in the table.
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

/// The results of all clients, by the names of their files, which determine their order.
type Rows = BTreeMap<String, Value>;

/// A table of the document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    /// The clients that each run of the tests has.
    EachRun,
    /// The clients that only `cargo xtask clients` runs, with fewer steps.
    Further,
}

impl Table {
    /// Returns the command that writes the table.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::EachRun => COMMAND,
            Self::Further => FURTHER_COMMAND,
        }
    }

    /// Returns the folder that the test program writes the rows of the pinned clients to.
    pub(crate) fn rows_folder(self, workspace: &Workspace) -> PathBuf {
        let folder = workspace.path("target/clients/rows");
        match self {
            Self::EachRun => folder,
            Self::Further => folder.join("further"),
        }
    }

    /// Formats the results of the last run in Markdown.
    pub(crate) fn load_text(self, workspace: &Workspace) -> Result<String> {
        let folder = self.rows_folder(workspace);
        let rows = load_rows(&folder)?;
        let at_another_bridge = load_rows(&folder.join("another-bridge"))?;
        let over_deploy = load_rows(&folder.join("rolling-deploy"))?;
        Ok(self.format(&rows)
            + &format_at_another_bridge(&rows, &at_another_bridge)?
            + &format_over_deploy(&over_deploy)?)
    }

    /// Formats the rows in Markdown.
    fn format(self, rows: &Rows) -> String {
        match self {
            Self::EachRun => format_table(rows),
            Self::Further => format_list(rows),
        }
    }
}

/// Formats the names of the clients that did the same at a bridge of several that does not serve the page, or
/// nothing if none ran there.
fn format_at_another_bridge(ordinary: &Rows, rows: &Rows) -> Result<String> {
    let mut same = ordinary.clone();
    same.retain(|name, _| rows.contains_key(name));
    let differences = differences(&same, rows);
    if !differences.is_empty() || same.len() < rows.len() {
        bail!(
            "clients do something else at a bridge that does not serve the page:\n{}",
            differences.join("\n")
        );
    }
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\nWhen [several bridges serve as one](cluster.md), each of these did the same at a bridge that does \
         not serve the page: {}.\n",
        format_names(rows)
    ))
}

/// Formats the names of the clients that noticed nothing while several bridges were replaced, or nothing if
/// none ran then.
fn format_over_deploy(rows: &Rows) -> Result<String> {
    let failed = rows.iter().find(|(_, row)| row["cells"]["call"] != "works");
    if let Some((name, _)) = failed {
        bail!("{name} noticed that several bridges were replaced: run it again");
    }
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\nWhile [three such bridges were replaced](cluster.md#rolling-deploy) one after the other, each of \
         these called a tool all the time. No call failed, none ran twice, and no MCP session was opened \
         again: {}.\n",
        format_names(rows)
    ))
}

fn format_names(rows: &Rows) -> String {
    let clients: Vec<_> = rows
        .values()
        .map(|row| {
            let [client, transport, protocol] =
                ["client", "over", "protocol"].map(|key| field(row, key));
            format!("{client} ({transport}, {protocol})")
        })
        .collect();
    clients.join(", ")
}

/// Formats the rows as a table, with the notes of its cells in a list below it. A client that does the same
/// over HTTP and over stdio has one line.
fn format_table(rows: &Rows) -> String {
    let mut notes: Vec<&str> = Vec::new();
    let titles: Vec<_> = STEPS.iter().map(|(_, title)| *title).collect();
    let mut text = format!("| client | over | MCP | {} |\n", titles.join(" | "));
    text += &format!("|---|---|---|{}\n", "---|".repeat(STEPS.len()));
    let rows: Vec<_> = rows.values().collect();
    let is_same = |a: &&Value, b: &&Value| {
        ["client", "protocol", "cells"]
            .iter()
            .all(|key| a[*key] == b[*key])
    };
    for same in rows.chunk_by(is_same) {
        let row = same[0];
        let transports: Vec<_> = same.iter().map(|row| field(row, "over")).collect();
        text += &format!(
            "| {} | {} | {} |",
            field(row, "client"),
            transports.join(", "),
            field(row, "protocol")
        );
        for (step, _) in STEPS {
            let (mark, note) = display_cell(&row["cells"][step]);
            text += &format!(" {mark}");
            if let Some(note) = note {
                text += &format!(" {}", note_number(&mut notes, note));
            }
            text += " |";
        }
        text.push('\n');
    }
    text.push('\n');
    for (index, note) in notes.iter().enumerate() {
        text += &format!("{}. {note}\n", index + 1);
    }
    text
}

/// Formats the rows as one sentence, with what is remarkable about a client in parentheses.
fn format_list(rows: &Rows) -> String {
    let clients: Vec<_> = rows
        .values()
        .map(|row| {
            let steps = STEPS[..BASIC_STEPS].iter();
            let remarks = steps.filter_map(|(step, title)| {
                let (mark, note) = display_cell(&row["cells"][step]);
                Some(format!("{title}: {mark}, {}", note?))
            });
            let protocol = row["protocol"]
                .as_str()
                .map(|protocol| format!("MCP {protocol}"));
            let remarks: Vec<_> = protocol.into_iter().chain(remarks).collect();
            let client = field(row, "client");
            match &*remarks {
                [] => client.to_owned(),
                remarks => format!("{client} ({})", remarks.join("; ")),
            }
        })
        .collect();
    clients.join(", ") + ".\n"
}

fn field<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("not reported")
}

/// Fails if the table in the document differs from what the clients did in the last run.
pub(crate) fn check_document(workspace: &Workspace) -> Result<()> {
    let table = Table::EachRun;
    let text = table.load_text(workspace)?;
    if document::has_section(workspace, DOCUMENT, table.command(), &text)? {
        return Ok(());
    }
    bail!("{DOCUMENT} differs from what the clients did: run `{COMMAND}` and check the changes")
}

/// Loads all rows in a folder, which may not exist.
pub(crate) fn load_rows(folder: &Path) -> Result<Rows> {
    let mut rows = Rows::new();
    let Ok(files) = fs::read_dir(folder) else {
        return Ok(rows);
    };
    for file in files {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path)?;
        let row = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a row in JSON", path.display()))?;
        rows.insert(name.into_owned(), row);
    }
    Ok(rows)
}

/// Returns the number of a note, which is added to the list if it is new.
fn note_number<'a>(notes: &mut Vec<&'a str>, note: &'a str) -> usize {
    let index = notes.iter().position(|other| *other == note);
    let index = index.unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    index + 1
}

/// Returns the mark of a cell, and its note.
fn display_cell(cell: &Value) -> (&str, Option<&str>) {
    match cell {
        Value::String(kind) if kind == "works" => ("yes", None),
        Value::Object(cell) => match cell.iter().next() {
            Some((kind, note)) if kind == "works_but" => ("yes", note.as_str()),
            Some((kind, note)) if kind == "lacks" => ("no", note.as_str()),
            Some((_, note)) => ("failed", note.as_str()),
            None => ("unknown", None),
        },
        _ => ("unknown", None),
    }
}

/// Compares the rows of the newest versions with those of the pinned ones: one line for each client
/// that differs.
pub(crate) fn differences(pinned: &Rows, newest: &Rows) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, before) in pinned {
        let Some(after) = newest.get(name) else {
            lines.push(format!("{name}: it did not finish"));
            continue;
        };
        let mut changes = Vec::new();
        for key in ["client", "protocol"] {
            if before[key] != after[key] {
                changes.push(format!("{key} {} → {}", before[key], after[key]));
            }
        }
        for (step, _) in STEPS {
            let (before, after) = (&before["cells"][step], &after["cells"][step]);
            if before != after {
                changes.push(format!("{step}: {before} → {after}"));
            }
        }
        if !changes.is_empty() {
            lines.push(format!("{name}: {}", changes.join("; ")));
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
    fn equal_notes_are_listed_once_below_the_table() {
        let lacks = json!({ "lacks": "it cannot" });
        let rows = Rows::from([
            ("1".to_owned(), row("a 1", lacks.clone())),
            ("2".to_owned(), row("b 2", json!({ "works_but": "slowly" }))),
            ("3".to_owned(), row("c 3", lacks)),
        ]);
        let table = Table::EachRun.format(&rows);
        for line in [
            "| a 1 | HTTP | not reported | yes | no 1 | yes |",
            "| b 2 | HTTP | not reported | yes | yes 2 | yes |",
            "| c 3 | HTTP | not reported | yes | no 1 | yes |",
        ] {
            assert!(table.contains(line), "{table}");
        }
        assert!(table.ends_with("\n\n1. it cannot\n2. slowly\n"), "{table}");
    }

    #[test]
    fn differences_and_missing_rows_are_reported() {
        let rows = |client: &str, call: Value| Rows::from([("1".to_owned(), row(client, call))]);
        let pinned = rows("a 1", json!("works"));
        assert!(differences(&pinned, &pinned).is_empty());
        let newest = rows("a 2", json!({ "failed": "no" }));
        let lines = differences(&pinned, &newest);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("a 2") && lines[0].contains("call:"),
            "{lines:?}"
        );
        let lines = differences(&pinned, &Rows::new());
        assert!(lines[0].contains("did not finish"), "{lines:?}");
    }

    #[test]
    fn a_client_that_does_the_same_over_both_transports_has_one_line() {
        let over = |transport: &str, call: Value| {
            let mut row = row("a 1", call);
            row["over"] = json!(transport);
            row
        };
        let rows = |stdio: Value| {
            let http = ("1".to_owned(), over("HTTP", json!("works")));
            Rows::from([http, ("2".to_owned(), over("stdio", stdio))])
        };
        let table = Table::EachRun.format(&rows(json!("works")));
        assert!(
            table.contains("| a 1 | HTTP, stdio | not reported |"),
            "{table}"
        );
        let table = Table::EachRun.format(&rows(json!({ "lacks": "it cannot" })));
        assert!(table.contains("| a 1 | stdio | not reported |"), "{table}");
    }

    #[test]
    fn clients_at_another_bridge_are_listed_only_if_they_do_the_same() {
        let rows = |call: &str| Rows::from([("2".to_owned(), row("b 2", json!(call)))]);
        let mut ordinary = rows("works");
        ordinary.insert("1".to_owned(), row("a 1", json!("works")));
        let text = format_at_another_bridge(&ordinary, &rows("works")).unwrap();
        assert!(text.ends_with(": b 2 (HTTP, not reported).\n"), "{text}");
        let none = format_at_another_bridge(&ordinary, &Rows::new());
        assert_eq!(none.unwrap(), "");
        let failed = format_at_another_bridge(&ordinary, &rows("fails")).unwrap_err();
        assert!(failed.to_string().contains("2: call:"), "{failed}");
        assert!(format_at_another_bridge(&Rows::new(), &rows("works")).is_err());
    }

    #[test]
    fn clients_are_listed_only_if_they_noticed_nothing_of_a_deploy() {
        let rows = |call| Rows::from([("1".to_owned(), row("a 1", call))]);
        let text = format_over_deploy(&rows(json!("works"))).unwrap();
        assert!(
            text.ends_with("again: a 1 (HTTP, not reported).\n"),
            "{text}"
        );
        assert_eq!(format_over_deploy(&Rows::new()).unwrap(), "");
        assert!(format_over_deploy(&rows(json!({ "failed": "no" }))).is_err());
    }

    #[test]
    fn further_clients_are_listed_with_their_remarks() {
        let mut other = row("b 2", json!({ "works_but": "slowly" }));
        other["protocol"] = json!("2025-11-25");
        let rows = Rows::from([
            ("1".to_owned(), row("a 1", json!("works"))),
            ("2".to_owned(), other),
        ]);
        assert_eq!(
            Table::Further.format(&rows),
            "a 1, b 2 (MCP 2025-11-25; call: yes, slowly).\n"
        );
    }

    #[test]
    fn the_document_has_a_section_for_each_table() {
        let text = fs::read_to_string(Workspace::here().path(DOCUMENT)).unwrap();
        for table in [Table::EachRun, Table::Further] {
            assert!(document::replace_section(&text, table.command(), "").is_some());
        }
    }
}
