//! The licences that programs carry: our own, and `THIRD-PARTY.txt` with the texts of all packages of others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::packed_file::PackedFile;
use super::shipped_package::ShippedPackage;
use crate::Workspace;

const MIT: &str = include_str!("templates/MIT.txt");
const BSD_3_CLAUSE: &str = include_str!("templates/BSD-3-Clause.txt");

/// Packages that contain no text of their licence and offer none whose text names no holder, with the
/// holder of the copyright as their repository names it.
const WITHOUT_TEXT: [(&str, &str, &str); 8] = [
    ("@cfworker/json-schema", MIT, "Jeremy Danyow"),
    ("alloc-stdlib", BSD_3_CLAUSE, "Dropbox, Inc."),
    ("governor", MIT, "Andreas Fuchs"),
    ("jsonschema-regex", MIT, "Dmitry Dygalo"),
    ("jsonschema-value", MIT, "Dmitry Dygalo"),
    ("rsqlite-vfs", MIT, "The sqlite-wasm-rs authors"),
    ("uuid-simd", MIT, "Nugine"),
    ("vsimd", MIT, "Nugine"),
];

/// Libraries that programs contain besides crates.
const LIBRARIES: [(&str, &str, &str); 1] = [("musl (Linux)", MIT, "Rich Felker, et al.")];

const INTRODUCTION: &str = "\
The programs of MCP-Web contain the packages below (crates, and packages of npm in the SDK), and Rust's standard library, which is licensed under
MIT OR Apache-2.0. The text of the Apache License 2.0 is in the file LICENSE.
";

/// The texts that each package carries.
#[derive(Debug, Clone)]
pub(super) struct ProductTexts {
    license: Arc<[u8]>,
    third_party: Arc<[u8]>,
}

impl ProductTexts {
    /// Collects the texts of all packages.
    pub(super) fn collect(workspace: &Workspace, packages: &[ShippedPackage]) -> Result<Self> {
        let license = workspace.path("LICENSE");
        let license =
            fs::read(&license).with_context(|| format!("restore {}", license.display()))?;
        Ok(Self {
            license: license.into(),
            third_party: third_party(packages)?.into_bytes().into(),
        })
    }

    /// Returns `LICENSE` and `THIRD-PARTY.txt`.
    pub(super) fn files(&self) -> Vec<PackedFile> {
        vec![
            PackedFile::text("LICENSE", &self.license),
            PackedFile::text("THIRD-PARTY.txt", &self.third_party),
        ]
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        Self {
            license: b"our licence\n"[..].into(),
            third_party: b"their licences\n"[..].into(),
        }
    }
}

/// Returns the list of all packages, and each text once with the packages that have it.
fn third_party(packages: &[ShippedPackage]) -> Result<String> {
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut report = format!("{INTRODUCTION}\n");
    let mut unknown = Vec::new();
    for one in packages {
        let name = format!("{} {}", one.name, one.version);
        writeln!(report, "{name}: {}", one.license)?;
        let mut texts = texts_in(&one.folder)?;
        if texts.is_empty() && !offers_apache(&one.license) {
            match by_hand(&WITHOUT_TEXT, &one.name) {
                Some(text) => texts.push(text),
                None => unknown.push(name.clone()),
            }
        }
        for text in texts {
            users.entry(text).or_default().insert(name.clone());
        }
    }
    if !unknown.is_empty() {
        bail!(
            "these packages contain no licence: add them to WITHOUT_TEXT in {}: {}",
            file!(),
            unknown.join(", ")
        );
    }
    for (library, _, _) in LIBRARIES {
        let text = by_hand(&LIBRARIES, library).unwrap_or_default();
        users.entry(text).or_default().insert(library.to_owned());
    }
    // By the packages, and not by the text: a new version of a text then changes little.
    let mut sections: Vec<_> = users
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    sections.sort();
    for (names, text) in sections {
        let names: Vec<_> = names.into_iter().collect();
        let line = "-".repeat(72);
        write!(report, "\n{line}\n{}\n{line}\n\n{text}\n", names.join(", "))?;
    }
    Ok(report)
}

/// The text of the Apache License has no place for a name, so that ours is also that of others.
fn offers_apache(license: &str) -> bool {
    let choices = license.split(" OR ");
    let mut names = choices.map(|choice| choice.trim_matches(['(', ')']));
    !license.contains(" AND ") && names.any(|name| name == "Apache-2.0")
}

fn by_hand(list: &[(&str, &str, &str)], name: &str) -> Option<String> {
    let (_, text, holder) = list.iter().find(|(listed, _, _)| *listed == name)?;
    Some(text.replace("@COPYRIGHT@", &format!("Copyright (c) {holder}")))
}

/// Returns the licences in a crate's folder and in those directly below it, where sources in C are.
fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            for inner in entries(&path)? {
                texts.extend(license_text(&inner)?);
            }
        } else {
            texts.extend(license_text(&path)?);
        }
    }
    Ok(texts)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let list = fs::read_dir(folder)
        .with_context(|| format!("{} is missing: run `cargo fetch`", folder.display()))?;
    let mut paths = list
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn license_text(path: &Path) -> Result<Option<String>> {
    const NAMES: [&str; 6] = [
        "copying",
        "copyright",
        "licence",
        "license",
        "notice",
        "unlicense",
    ];
    // Source files can have such names.
    const SOURCES: [&str; 4] = ["c", "h", "rs", "toml"];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    let is_source = path
        .extension()
        .is_some_and(|it| SOURCES.iter().any(|source| it == *source));
    if is_source || !path.is_file() || !NAMES.iter().any(|start| name.starts_with(start)) {
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    // Copies of one text differ in how their lines end.
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    Ok((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::shipped_package::Registry;
    use crate::release::{crates, npm_packages};

    fn crate_in(
        folder: &Path,
        name: &str,
        license: &str,
        files: &[(&str, &str)],
    ) -> ShippedPackage {
        let folder = folder.join(name);
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        ShippedPackage {
            registry: Registry::Cargo,
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.to_owned(),
            folder,
            uses: Vec::new(),
        }
    }

    #[test]
    fn each_text_is_there_once_with_all_crates_that_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let mit = [("LICENSE-MIT", "text of\r\nA\n")];
        let crates = [
            crate_in(folder.path(), "a", "MIT", &mit),
            crate_in(folder.path(), "b", "MIT", &[("license.txt", "text of\nA")]),
            crate_in(
                folder.path(),
                "c",
                "MIT",
                &[("jemalloc/COPYING", "text of C")],
            ),
        ];
        let report = third_party(&crates).unwrap();
        assert_eq!(report.matches("text of\nA").count(), 1);
        assert!(report.contains("\na 1.0.0, b 1.0.0\n"), "{report}");
        assert!(report.contains("text of C") && report.contains("\nc 1.0.0: MIT\n"));
    }

    #[test]
    fn a_crate_without_a_text_is_refused_unless_it_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let code = [("src/license.rs", "mod license;")];
        let unknown = crate_in(folder.path(), "unknown", "MIT", &code);
        let message = third_party(&[unknown]).unwrap_err().to_string();
        assert!(message.ends_with("rs: unknown 1.0.0"), "{message}");
        let listed = crate_in(folder.path(), "governor", "MIT", &[]);
        let report = third_party(&[listed]).unwrap();
        assert!(report.contains("Copyright (c) Andreas Fuchs"), "{report}");
        let apache = crate_in(folder.path(), "apache", "MIT OR Apache-2.0", &[]);
        assert!(third_party(&[apache]).is_ok());
    }

    #[test]
    fn a_licence_that_demands_more_than_apache_does_not_offer_it() {
        assert!(offers_apache("Apache-2.0") && offers_apache("MIT OR Apache-2.0"));
        assert!(!offers_apache("MIT") && !offers_apache("Apache-2.0 AND ISC"));
        assert!(!offers_apache("(MIT OR Apache-2.0) AND Unicode-3.0"));
    }

    /// A new package without a text fails here, before a release.
    #[test]
    fn all_packages_of_the_programs_have_a_licence() {
        let workspace = Workspace::here();
        let mut packages = crates::list(&workspace).unwrap();
        assert!(packages.len() > 200, "{}", packages.len());
        packages.extend(npm_packages::list(&workspace).unwrap());
        let report = third_party(&packages).unwrap();
        assert!(
            report.contains("jemalloc"),
            "the text of jemalloc's licence"
        );
        for (name, _, _) in WITHOUT_TEXT {
            let is_used = packages.iter().any(|it| it.name == name);
            assert!(is_used, "WITHOUT_TEXT need not have {name}");
        }
    }
}
