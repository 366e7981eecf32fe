//! Rules for the sources of the SDK that keep it small.

use std::fs;
use std::path::Path;

/// Code that needs the standard library's formatting. The build removes that from the wasm, so that
/// it would trap.
const FORMATTING: [&str; 6] = [
    "format!(",
    "write!(",
    "writeln!(",
    ".to_string()",
    "format_args!(",
    "chars().count()",
];

/// Collects the lines of code of all sources, without comments and tests.
fn collect_lines(folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "tests" {
            collect_lines(&path, lines);
        } else if path.is_file() && path.file_name().unwrap() != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap().lines();
            lines.extend(
                code.filter(|line| !line.trim_start().starts_with("//"))
                    .map(Into::into),
            );
        }
    }
}

#[test]
fn sources_use_no_formatting_macros() {
    let mut lines = Vec::new();
    for folder in ["src", "../wasm/src", "../page-tools/src"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        collect_lines(&folder, &mut lines);
    }
    assert!(!lines.is_empty());
    for line in lines {
        let is_formatting = FORMATTING.iter().any(|text| line.contains(text));
        assert!(!is_formatting, "use `concat` and `decimal` instead: {line}");
    }
}
