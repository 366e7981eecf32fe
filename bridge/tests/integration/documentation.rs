//! Checks that `docs/configuration.md` states the settings and limits of the source, and that every
//! limit there and every promise in `docs/security.md` names existing tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

/// A row of a table of limits.
struct Limit {
    key: &'static str,
    default: &'static str,
    over_limit: &'static str,
    tests: Vec<&'static str>,
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
    let headings = [
        "\n## Limits\n",
        "\n### Shares\n",
        "\n### In the page\n",
        "\n### Its limits\n",
    ];
    let rows = headings
        .into_iter()
        .flat_map(|heading| rows(section(heading)));
    let rows = rows.filter(|row| !row[0].starts_with("**"));
    let limit = |row: Vec<&'static str>| Limit {
        key: row[1],
        default: strip_backticks(row[2]),
        over_limit: row[3],
        tests: row[4].split(", ").map(strip_backticks).collect(),
    };
    rows.map(limit).collect()
}

/// The keys and defaults that the program prints.
fn printed_settings() -> BTreeMap<String, String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-bridge"));
    let output = program.env_clear().arg("--print-config").output().unwrap();
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
    let keys = limits.iter().filter(|limit| !limit.key.contains(' '));
    documented.extend(keys.map(|limit| (strip_backticks(limit.key), limit.default)));
    documented.sort_unstable();
    let documented: Vec<_> = documented
        .into_iter()
        .map(|(key, default)| (key.to_owned(), default.to_owned()))
        .collect();
    let expected: Vec<_> = printed_settings().into_iter().collect();
    assert!(expected.len() > 50, "{expected:?}");
    assert_eq!(documented, expected);
}

#[test]
fn every_limit_documents_what_happens_above_it() {
    let limits = limits();
    assert!(limits.len() > 50);
    for limit in limits {
        assert!(!limit.over_limit.is_empty(), "{}", limit.key);
    }
}

#[test]
fn every_fixed_limit_matches_its_source_constant() {
    for limit in limits() {
        let Some((file, name)) = constant(&limit) else {
            continue;
        };
        let declaration = format!("const {name}: ");
        let values: Vec<_> = sources(file)
            .iter()
            .filter_map(|text| {
                let (_, declared) = text.split_once(&declaration)?;
                let value = declared.split_once(" = ")?.1.split_once(';')?.0;
                Some(value.to_owned())
            })
            .collect();
        let [value] = values.as_slice() else {
            panic!("{} is declared {} times", limit.key, values.len());
        };
        assert_eq!(number(value), number(limit.default), "{}", limit.key);
    }
}

/// The file and the name of the constant with the limit or its default.
fn constant(limit: &Limit) -> Option<(&'static str, &'static str)> {
    let last = limit.key.split(' ').next_back().unwrap();
    strip_backticks(last).split_once("::")
}

/// The value of a constant or a documented default: a number, or milliseconds.
fn number(text: &str) -> u128 {
    let product = |text: &str| -> u128 {
        let factors = text.split('*').map(|factor| factor.trim().replace('_', ""));
        factors
            .map(|factor| factor.parse::<u128>().unwrap())
            .product()
    };
    let argument = |text: &str, name: &str| {
        let text = text.strip_prefix(name)?.strip_suffix(')')?;
        Some(product(text))
    };
    if let Some(seconds) = argument(text, "Duration::from_secs(") {
        return seconds * 1000;
    }
    if let Some(milliseconds) = argument(text, "Duration::from_millis(") {
        return milliseconds;
    }
    for (unit, milliseconds) in [("days", 86_400_000), ("ms", 1), ("s", 1000)] {
        if let Some(number) = text.strip_suffix(unit) {
            return product(number) * milliseconds;
        }
    }
    product(text)
}

#[test]
fn every_limit_names_an_existing_test() {
    for limit in limits() {
        assert!(!limit.tests.is_empty(), "{}", limit.key);
        for test in limit.tests {
            assert!(exists(test), "{}: there is no test {test}", limit.key);
        }
    }
}

#[test]
fn every_promise_names_existing_tests() {
    let document = include_str!("../../../docs/security.md");
    let promised = document.split_once("\n## What is promised\n").unwrap().1;
    let promised = promised
        .split("\n## What is not promised\n")
        .next()
        .unwrap();
    let tables = promised.split("\n### ").skip(1);
    let promises: Vec<_> = tables.flat_map(rows).collect();
    assert!(promises.len() >= 20, "{promises:?}");
    for promise in promises {
        for test in promise[2].split(", ").map(strip_backticks) {
            assert!(exists(test), "{}: there is no test {test}", promise[0]);
        }
    }
}

/// Whether there is a test `file.rs::name`.
fn exists(test: &str) -> bool {
    let (file, name) = test.split_once("::").unwrap();
    let function = format!("fn {name}()");
    sources(file).iter().any(|text| {
        let before = text.split(&function).next().unwrap();
        before.len() < text.len() && is_test(before)
    })
}

/// Whether the text before a function ends with the attribute of a test.
fn is_test(before: &str) -> bool {
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    attributes.contains("#[test]") || attributes.contains("#[tokio::test")
}

#[test]
fn every_configuration_file_in_the_guides_is_valid() {
    let guides = [DOCUMENT, include_str!("../../../docs/operating.md")];
    let blocks = guides
        .iter()
        .flat_map(|guide| guide.split("```toml\n").skip(1));
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bridge.toml");
    let mut valid = 0;
    for block in blocks {
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-web-bridge"));
        let program = program.env_clear().arg("--config").arg(&path);
        let output = program.arg("--print-config").output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        valid += 1;
    }
    assert_eq!(valid, 3);
}

/// The source files of the workspace whose path ends with `suffix`.
fn sources(suffix: &str) -> Vec<String> {
    static FILES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        for folder in ["bridge", "client-stdio", "web-sdk", "demo-app", "e2e"] {
            collect(&workspace.join(folder), &mut files);
        }
        files
    });
    let files = FILES.iter().filter(|file| file.ends_with(suffix));
    files
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
