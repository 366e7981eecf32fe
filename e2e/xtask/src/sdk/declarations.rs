//! The TypeScript declarations of the package, which the compiler emits from the sources.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::files::{self, Files};
use crate::folder;
use crate::process::capture;

/// Checks the types of the SDK's TypeScript sources, and returns the declarations that the entry
/// modules need, by name.
pub(super) fn emit(
    packages: &Path,
    project: &Path,
    output: &Path,
    entries: &[&str],
) -> Result<Files> {
    folder::remove(output)?;
    let mut tsc = Command::new("node");
    tsc.arg(packages.join("typescript/bin/tsc"))
        .arg("--project")
        .arg(project)
        .args([
            "--noEmit",
            "false",
            "--declaration",
            "--emitDeclarationOnly",
            "--stripInternal",
        ])
        .arg("--outDir")
        .arg(output);
    capture(&mut tsc, "fix the errors in web-sdk/js above")?;
    let mut emitted = Files::new();
    for path in files::list(output)? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = files::relative_name(output, &path);
        emitted.insert(name, link_built_modules(&text).into_bytes());
    }
    let mut needed = Files::new();
    for entry in entries {
        add_with_imports(&format!("{entry}.d.ts"), &emitted, &mut needed)?;
    }
    Ok(needed)
}

/// Replaces the sources in imports by the built files: TypeScript finds their declarations.
fn link_built_modules(declaration: &str) -> String {
    declaration.replace(".ts\"", ".js\"")
}

/// Adds a declaration and everything that it imports from this package.
fn add_with_imports(name: &str, emitted: &Files, needed: &mut Files) -> Result<()> {
    if needed.contains_key(name) {
        return Ok(());
    }
    let text = emitted
        .get(name)
        .with_context(|| format!("TypeScript emitted no {name}: check web-sdk/tsconfig.json"))?;
    needed.insert(name.to_owned(), text.clone());
    for import in relative_imports(&String::from_utf8_lossy(text)) {
        add_with_imports(&resolve(name, import), emitted, needed)?;
    }
    Ok(())
}

/// Returns the paths that a declaration imports, if they are of this package.
fn relative_imports(text: &str) -> Vec<&str> {
    text.split(['"', '\''])
        .filter(|part| part.starts_with("./") || part.starts_with("../"))
        .filter_map(|part| part.strip_suffix(".js"))
        .filter(|part| !part.contains(char::is_whitespace))
        .collect()
}

/// Returns the name of the declaration that `importer` imports as `import`.
fn resolve(importer: &str, import: &str) -> String {
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("{}.d.ts", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_entries_import_is_part_of_the_package() {
        let emitted = Files::from([
            (
                "a.d.ts".into(),
                br#"import { B } from "./b/c.js";"#.to_vec(),
            ),
            ("b/c.d.ts".into(), br#"export * from "../d.js";"#.to_vec()),
            ("d.d.ts".into(), Vec::new()),
            ("internal.d.ts".into(), Vec::new()),
        ]);
        let mut needed = Files::new();
        add_with_imports("a.d.ts", &emitted, &mut needed).unwrap();
        assert_eq!(
            needed.keys().collect::<Vec<_>>(),
            ["a.d.ts", "b/c.d.ts", "d.d.ts"]
        );
    }

    #[test]
    fn a_missing_declaration_is_an_error() {
        let emitted = Files::from([("a.d.ts".into(), br#"import "./b.js""#.to_vec())]);
        let error = add_with_imports("a.d.ts", &emitted, &mut Files::new()).unwrap_err();
        assert!(error.to_string().contains("b.d.ts"));
    }
}
