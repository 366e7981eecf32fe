//! Checks that `docs/configuration.md` states the settings of the program, and what happens above
//! each limit.

use std::collections::BTreeMap;

use crate::kit::bridge_program;

const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

/// A row of the table of limits.
struct Limit {
    key: &'static str,
    default: &'static str,
    over_limit: &'static str,
}

fn section(heading: &str) -> &'static str {
    let rest = DOCUMENT.split_once(heading).unwrap().1;
    rest.split("\n#").next().unwrap()
}

fn rows(section: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    // The first row contains the column titles.
    rows.map(cells).skip(1)
}

fn strip_backticks(cell: &'static str) -> &'static str {
    cell.trim_matches('`')
}

/// The documented keys with their defaults.
fn settings() -> Vec<(&'static str, &'static str)> {
    let rows = rows(section("\n## Settings\n"));
    rows.map(|row| (strip_backticks(row[0]), strip_backticks(row[1])))
        .collect()
}

fn limits() -> Vec<Limit> {
    let rows = rows(section("\n## Limits\n")).filter(|row| !row[0].starts_with("**"));
    let limit = |row: Vec<&'static str>| Limit {
        key: strip_backticks(row[0]),
        default: strip_backticks(row[1]),
        over_limit: row[3],
    };
    rows.map(limit).collect()
}

/// The keys and defaults that the program prints.
fn printed_settings() -> BTreeMap<String, String> {
    let mut program = bridge_program().into_std();
    let output = program.arg("--print-config").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let setting = |line: &str| {
        if let Some(key) = line.strip_suffix(" is not set") {
            return Some((key.strip_prefix("# ")?.to_owned(), "none".to_owned()));
        }
        let (key, value) = line.split_once(" = ").filter(|_| !line.starts_with('#'))?;
        let value = value.replace("false", "off");
        Some((key.to_owned(), value.replace(['[', ']', '"'], "")))
    };
    printed.lines().filter_map(setting).collect()
}

#[test]
fn every_setting_is_documented_once_with_its_default() {
    let mut documented = settings();
    let limits = limits();
    documented.extend(limits.iter().map(|limit| (limit.key, limit.default)));
    documented.sort_unstable();
    let documented: Vec<_> = documented
        .into_iter()
        .map(|(key, default)| (key.to_owned(), default.to_owned()))
        .collect();
    let expected: Vec<_> = printed_settings().into_iter().collect();
    assert_eq!(documented, expected);
}

#[test]
fn every_limit_documents_the_effect_of_exceeding_it() {
    let limits = limits();
    assert!(!limits.is_empty());
    for limit in limits {
        assert!(!limit.over_limit.is_empty(), "{}", limit.key);
    }
}

#[test]
fn every_configuration_file_in_the_guides_is_valid() {
    let blocks = DOCUMENT.split("```toml\n").skip(1);
    let blocks = blocks.chain([include_str!("../../../docs/deploy/bridge.toml")]);
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bridge.toml");
    let mut valid = 0;
    for block in blocks {
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        let mut program = bridge_program().into_std();
        let program = program.arg("--config").arg(&path);
        let output = program.arg("--print-config").output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        valid += 1;
    }
    assert_eq!(valid, 2);
}
