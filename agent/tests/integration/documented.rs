//! Checks docs/agent.md: settings, limits, rules of models, and the example request.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::json;

use crate::kit::*;

const DOCUMENT: &str = include_str!("../../../docs/agent.md");

fn section(heading: &str) -> &'static str {
    let (_, text) = DOCUMENT.split_once(heading).unwrap();
    text.split("\n#").next().unwrap()
}

fn rows(section: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    // The first row has the names of the columns.
    rows.map(cells).skip(1)
}

fn code(cell: &'static str) -> &'static str {
    cell.trim_matches('`')
}

/// A row of the table of limits.
struct LimitRow {
    key: &'static str,
    default: &'static str,
    /// The effect beyond the limit.
    effect: &'static str,
}

fn limits() -> Vec<LimitRow> {
    rows(section("\n## Limits\n"))
        .map(|row| LimitRow {
            key: code(row[0]),
            default: code(row[1]),
            effect: row[3],
        })
        .collect()
}

fn program_output(argument: &str) -> String {
    let output = agent_program().into_std().arg(argument).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the keys and their defaults, as the program prints them.
fn printed_settings() -> BTreeMap<String, String> {
    let setting = |line: &str| {
        if let Some(key) = line.strip_suffix(" is not set") {
            return Some((key.strip_prefix("# ")?.to_owned(), "none".to_owned()));
        }
        let (key, value) = line.split_once(" = ").filter(|_| !line.starts_with('#'))?;
        let value = value.replace("false", "off");
        Some((key.to_owned(), value.replace(['[', ']', '"'], "")))
    };
    program_output("--print-config")
        .lines()
        .filter_map(setting)
        .collect()
}

#[test]
fn every_setting_has_a_flag_and_a_variable_of_its_name() {
    let help = program_output("--help");
    for key in printed_settings().keys() {
        let flag = format!("\n      --{}", key.replace('_', "-"));
        let (_, entry) = help.split_once(&flag).unwrap_or_else(|| panic!("{flag}"));
        let entry = entry.split("\n      --").next().unwrap();
        let variable = format!("[env: MCP_WEB_AGENT_{}", key.to_uppercase());
        assert!(entry.contains(&variable), "{flag} has no {variable}");
    }
}

#[test]
fn every_setting_is_documented_once_with_its_default() {
    let settings = rows(section("\n## Settings\n"));
    let settings = settings.map(|row| (code(row[0]), code(row[1])));
    let limits = limits().into_iter().map(|row| (row.key, row.default));
    let mut documented: Vec<_> = settings
        .chain(limits)
        .map(|(key, default)| (key.to_owned(), default.to_owned()))
        .collect();
    documented.sort_unstable();
    let printed: Vec<_> = printed_settings().into_iter().collect();
    assert_eq!(documented, printed);
}

#[test]
fn every_limit_has_an_effect() {
    let limits = limits();
    assert!(!limits.is_empty());
    for row in limits {
        assert!(!row.effect.is_empty(), "{}", row.key);
    }
}

fn toml_block(heading: &str) -> &'static str {
    let block = section(heading).split("```toml\n").nth(1).unwrap();
    block.split("```").next().unwrap()
}

/// Runs the program with a file that contains this text, and returns its exit code and its errors.
fn run_with_file(text: &str, flag: &str, further: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.toml");
    std::fs::write(&path, text).unwrap();
    let mut program = agent_program().into_std();
    let output = program.arg(flag).arg(&path).args(further).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), errors)
}

#[test]
fn the_configuration_file_of_the_guide_is_valid() {
    // All settings are accepted: the first error is that the file with the key is missing.
    let (code, error) = run_with_file(toml_block("\n## Settings\n"), "--config", &[]);
    assert_eq!(code, Some(2));
    assert!(error.contains("anthropic-key"), "{error}");
}

#[test]
fn the_rules_of_the_guide_are_valid_with_a_budget() {
    let server = [
        "--base-url=http://127.0.0.1:9/v1",
        "--model=my-model-7b",
        "--daily-budget=1",
        "--check-config",
    ];
    let rules = toml_block("\n## Models\n");
    let checked = run_with_file(rules, "--model-rules", &server);
    assert_eq!(checked, (Some(0), String::new()));
}

/// Runs the `curl` command of the guide with another port.
#[tokio::test]
async fn the_example_request_shows_the_stream_of_the_guide() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let block = section("\n## Ask it by hand\n").split("```sh\n").nth(1);
    let command = block.unwrap().split("```").next().unwrap();
    assert!(command.starts_with("curl -N -X PUT http://127.0.0.1:3003/query "));
    let command = command.replace("127.0.0.1:3003", &bed.agent.local_addr().to_string());
    let mut shell = tokio::process::Command::new("sh");
    let shell = shell.arg("-c").arg(command).env("TOKEN", TOKEN);
    let curl = shell.kill_on_drop(true).stdout(Stdio::piped()).spawn();
    let call = page.recv_call().await;
    assert_eq!(call.tool_name, "add_card");
    page.respond(&call, json!({ "id": 7 })).await;
    let output = with_deadline("end of curl", curl.unwrap().wait_with_output()).await;
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let names: Vec<_> = output
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(names.first(), Some(&"query_accepted"), "{output}");
    assert_eq!(names.last(), Some(&"query_complete"), "{output}");
    // The stream in the guide is the actual one.
    for kind in ["tool-started", "tool-finished"] {
        let part = format!("\"content\":{{\"type\":\"{kind}\",\"id\":\"1\",\"tool\":\"add_card\"");
        assert!(
            output.contains(&part) && DOCUMENT.contains(&part),
            "{output}"
        );
    }
}
