//! What the sources of the SDK keep to, so that it stays small.

use std::fs;
use std::path::Path;

/// Each would need the standard library's formatting, which the build takes out of the wasm: it would trap.
const FORMATTING: [&str; 5] = [
    "format!(",
    "write!(",
    "writeln!(",
    ".to_string()",
    "format_args!(",
];

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "tests" {
            sources(&path, found);
        } else if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap().lines();
            found.extend(
                code.filter(|line| !line.trim_start().starts_with("//"))
                    .map(Into::into),
            );
        }
    }
}

#[test]
fn sources_use_no_formatting_macros() {
    let mut lines = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut lines,
    );
    assert!(lines.len() > 1000);
    for line in lines {
        let formats = FORMATTING.iter().any(|word| line.contains(word));
        assert!(!formats, "use `concat` and `decimal` instead: {line}");
    }
}
