//! Checks that every path and every name that ARCHITECTURE.md has in backticks exists.
//!
//! A *path* has `/` or the extension of a file. It is the path of a file or folder in git: from the
//! root, or, after another path in the same paragraph or row, from a folder that contains that one
//! (`bridge/src/budget.rs`, `budget/pool.rs`). `{a,b}` and `*` are expanded. Other text with `/`, such
//! as the method `tools/call`, must occur in a source file.
//!
//! In all other code, each word must occur in a source file, outside of comments: as an identifier,
//! or as a name with hyphens. For `a::b`, the same file must also contain `a`, or be in the module
//! or crate `a`.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use super::checkout_files::checkout_files;
use super::prose::{Paragraph, paragraphs, without_comments};
use crate::Workspace;
use crate::step::{Outcome, step};

const DOCUMENT: &str = "ARCHITECTURE.md";

/// This file, whose tests contain names that do not exist.
const THIS_FILE: &str = "lint/architecture.rs";

/// The extensions of files whose names are searched for.
const SOURCES: &[&str] = &[
    "html", "js", "json", "jsx", "mjs", "mts", "py", "rs", "svelte", "toml", "ts", "tsx", "vue",
    "yaml",
];

/// The extensions that make a name without `/` a path.
const EXTENSIONS: &[&str] = &[
    "css", "html", "js", "json", "lock", "md", "mjs", "py", "rs", "toml", "ts", "tsx", "yaml",
];

/// Fails if a path or name in ARCHITECTURE.md does not exist.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    step("paths and names in ARCHITECTURE.md", || {
        let document = fs::read_to_string(workspace.path(DOCUMENT))
            .with_context(|| format!("restore {DOCUMENT}"))?;
        let mut checkout = Checkout::default();
        for name in checkout_files(workspace)? {
            checkout.add(&name, || fs::read_to_string(workspace.path(&name)).ok());
        }
        let violations = violations(&document, &checkout);
        if !violations.is_empty() {
            println!("{}", violations.join("\n"));
            bail!(
                "correct the {} paths and names that are listed above. A path is that of a file or \
                 folder in git: from the root, or, after another path in the same paragraph or row, \
                 from a folder that contains that one. Each word of other code occurs in a source \
                 file, outside of comments. Write everything else without backticks",
                violations.len()
            );
        }
        Ok(Outcome::Done(()))
    })
}

/// The files that paths and names can refer to.
#[derive(Default)]
struct Checkout {
    /// The paths of all files, and of the folders that contain them.
    paths: BTreeSet<String>,
    sources: Vec<Source>,
}

/// A source file.
struct Source {
    path: String,
    code: String,
}

impl Checkout {
    /// Adds a file. Its text is read only if names are searched for in it.
    fn add(&mut self, path: &str, read: impl FnOnce() -> Option<String>) {
        for (slash, _) in path.match_indices('/') {
            self.paths.insert(path[..slash].to_owned());
        }
        self.paths.insert(path.to_owned());
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        if SOURCES.contains(&extension)
            && !path.ends_with(THIS_FILE)
            && let Some(text) = read()
        {
            self.sources.push(Source {
                path: path.to_owned(),
                code: without_comments(path, text),
            });
        }
    }

    /// Returns the file or folder that a path names, from the root or from a folder of `base`.
    fn resolve(&self, path: &str, base: Option<&str>) -> Option<String> {
        let path = path.trim_end_matches('/');
        let folders = base.into_iter().flat_map(|base| {
            let parents = base.rmatch_indices('/').map(|(slash, _)| &base[..slash]);
            [base]
                .into_iter()
                .chain(parents)
                .map(|folder| format!("{folder}/{path}"))
        });
        [path.to_owned()]
            .into_iter()
            .chain(folders)
            .find_map(|path| self.find(&path))
    }

    /// Returns the first file or folder with this path, in which `*` stands for any part of a name.
    fn find(&self, path: &str) -> Option<String> {
        let Some((before, after)) = path.split_once('*') else {
            return self.paths.get(path).cloned();
        };
        self.paths
            .range(before.to_owned()..)
            .take_while(|candidate| candidate.starts_with(before))
            .find(|candidate| {
                candidate[before.len()..]
                    .strip_suffix(after)
                    .is_some_and(|name| !name.contains('/'))
            })
            .cloned()
    }

    /// Whether a source file contains `text`, not as a part of a longer name or path.
    fn has_text(&self, text: &str) -> bool {
        let is_part = |char: char| is_word(char) || char == '/';
        self.sources.iter().any(|source| {
            source.code.match_indices(text).any(|(at, _)| {
                !source.code[..at].ends_with(is_part)
                    && !source.code[at + text.len()..].starts_with(is_part)
            })
        })
    }

    fn has_word(&self, word: &str) -> bool {
        self.sources.iter().any(|source| source.has_word(word))
    }

    /// Whether a source file contains `name`, and contains `owner` or is in this module or crate.
    fn has_member(&self, owner: &str, name: &str) -> bool {
        self.sources
            .iter()
            .any(|source| source.has_word(name) && (source.has_word(owner) || source.is_in(owner)))
    }
}

impl Source {
    fn has_word(&self, word: &str) -> bool {
        self.code.match_indices(word).any(|(at, _)| {
            !self.code[..at].ends_with(is_word)
                && !self.code[at + word.len()..].starts_with(is_word)
        })
    }

    fn is_in(&self, module: &str) -> bool {
        let path = self.path.replace('-', "_");
        let mut parts = path.split('/');
        parts.any(|part| part.split('.').next() == Some(module))
            || path.replace('/', "_").starts_with(&format!("{module}_"))
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Describes each path and name in the document that does not exist.
fn violations(document: &str, checkout: &Checkout) -> Vec<String> {
    let mut violations = Vec::new();
    let mut row = Row::default();
    for paragraph in paragraphs(DOCUMENT, document) {
        row = row.continued_by(&paragraph);
        for (line, code) in paragraph.code() {
            for code in expand_braces(code) {
                if let Err(advice) = row.check(&code, checkout) {
                    violations.push(format!("{DOCUMENT}:{line}: `{code}` {advice}"));
                }
            }
        }
    }
    violations
}

/// A paragraph or a row of a table.
#[derive(Default)]
struct Row {
    line: usize,
    /// The last path in it.
    path: Option<String>,
}

impl Row {
    /// Returns the row of a paragraph. The cells of one row are on the same line.
    fn continued_by(self, paragraph: &Paragraph) -> Self {
        let line = paragraph.line(0);
        if line == self.line {
            return self;
        }
        Self { line, path: None }
    }

    /// Returns what is wrong if the code names something that does not exist.
    fn check(&mut self, code: &str, checkout: &Checkout) -> Result<(), String> {
        if let Some(path) = checkout.resolve(code, self.path.as_deref()) {
            self.path = Some(path);
            return Ok(());
        }
        if is_path(code) {
            return check_path(code, checkout);
        }
        check_names(code, checkout)
    }
}

fn check_path(code: &str, checkout: &Checkout) -> Result<(), String> {
    let first = code.split('/').next().unwrap_or_default();
    if !checkout.paths.contains(first) && checkout.has_text(code) {
        return Ok(());
    }
    Err("does not exist: no file or folder has this path".to_owned())
}

fn check_names(code: &str, checkout: &Checkout) -> Result<(), String> {
    for name in names(code) {
        if !spellings(name).iter().any(|name| checkout.has_word(name)) {
            return Err(format!(
                "does not exist: no source file contains `{name}` outside of comments"
            ));
        }
    }
    for (owner, name) in members(code) {
        if !checkout.has_member(owner, name) {
            return Err(format!(
                "does not exist: no source file with or in `{owner}` contains `{name}`"
            ));
        }
    }
    Ok(())
}

/// Returns the ways in which code may write a name: that of a crate or flag with `-` or `_`, and that
/// of an HTTP header in lower case.
fn spellings(name: &str) -> Vec<String> {
    if name.contains('-') {
        return vec![name.to_owned(), name.replace('-', "_"), name.to_lowercase()];
    }
    vec![name.to_owned(), name.replace('_', "-")]
}

/// Returns `a` and `b` of each `a::b`.
fn members(code: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = code.match_indices("::").filter_map(|(at, separator)| {
        let owner = code[..at].rsplit(|char| !is_word(char)).next()?;
        let name = code[at + separator.len()..]
            .split(|char| !is_word(char))
            .next()?;
        Some((owner, name))
    });
    pairs.filter(|(owner, name)| !owner.is_empty() && !name.is_empty())
}

/// Whether code is a path: it has `/` or the extension of a file, and nothing that paths do not have.
fn is_path(code: &str) -> bool {
    let has_extension = code
        .rsplit_once('.')
        .is_some_and(|(_, extension)| EXTENSIONS.contains(&extension));
    (has_extension || code.contains('/'))
        && code
            .chars()
            .all(|char| is_word(char) || "-./*@".contains(char))
}

/// Returns the names in code other than paths: identifiers, and names with hyphens.
fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|char| !is_word(char) && char != '-')
        .map(|name| name.trim_matches('-'))
        .filter(|name| name.len() > 1 && name.starts_with(|char: char| !char.is_ascii_digit()))
}

/// Expands the first `{a,b}` of a path, and those in what results.
fn expand_braces(code: &str) -> Vec<String> {
    let expanded = || {
        let (before, rest) = code.split_once('{')?;
        let (choices, after) = rest.split_once('}')?;
        let is_path = |char| is_word(char) || "-./*@{},".contains(char);
        (choices.contains(',') && code.chars().all(is_path)).then(|| {
            let paths = choices
                .split(',')
                .map(|choice| format!("{before}{choice}{after}"));
            paths.flat_map(|path| expand_braces(&path)).collect()
        })
    };
    expanded().unwrap_or_else(|| vec![code.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        ("README.md", "a_name_in_a_document"),
        ("bridge/src/lib.rs", "mod hub;"),
        ("bridge/Cargo.toml", "name = \"bridge-schema\""),
        (
            "bridge/src/hub.rs",
            "pub mod timer; // only_in_a_comment\npub struct Hub;\nimpl Hub { fn start_call() {} }",
        ),
        ("bridge/src/hub/timer.rs", "const MAX_STALL: u8 = 1;"),
        (
            "bridge/src/http.rs",
            "route(GET, \"retry-after\", \"/tools\", \"tools/call\", \"target/sdk\");",
        ),
        (
            "bridge/schema/src/lib.rs",
            "pub fn validate(schema_texts: u8) {}",
        ),
        ("sdk/js/page-react.ts", "export function usePage() {}"),
        ("sdk/js/page-vue.ts", ""),
    ];

    /// Paragraphs without anything to correct.
    const GOOD: &[&str] = &[
        "`bridge/src/hub.rs`, the folder `bridge/src/` and `README.md`",
        "`bridge/src/hub.rs`, `hub/timer.rs`, then `http.rs`; `schema/src/lib.rs`",
        "| `bridge` | `src/hub` |",
        "`sdk/js/page-{react,vue}.ts`, `bridge/src/{hub,http}.rs`, `sdk/js/page-*.ts`",
        "`Hub`, `Hub::start_call`, `hub::timer`, `timer::MAX_STALL`, `bridge_schema::validate`",
        "`bridge_schema`, `bridge-schema`, `usePage()`, `route --schema-texts N`",
        "`GET /tools`, `Retry-After` and `tools/call`, built into `target/sdk`",
        "No backticks: bridge/src/gone.rs, Gone::gone\n```\nbridge/src/gone.rs\n```",
    ];

    /// Paragraphs with one thing to correct, and that thing.
    const BAD: &[(&str, &str)] = &[
        ("`bridge/src/gone.rs`", "bridge/src/gone.rs"),
        ("`bridge/src/gone/`", "bridge/src/gone/"),
        ("`timer.rs` without a path before it", "timer.rs"),
        ("`bridge/src/hub.rs`\n\n`http.rs`", "http.rs"),
        ("| `bridge/src/hub.rs` |\n| `http.rs` |", "http.rs"),
        ("`sdk/js/page-{react,svelte}.ts`", "sdk/js/page-svelte.ts"),
        ("`sdk/js/web-*.ts`", "sdk/js/web-*.ts"),
        ("`Hubs`", "Hubs"),
        ("`Timer`", "Timer"),
        ("`only_in_a_comment`", "only_in_a_comment"),
        ("`a_name_in_a_document`", "a_name_in_a_document"),
        ("`Hub::MAX_STALL`", "Hub::MAX_STALL"),
        ("`schema::start_call`", "schema::start_call"),
        ("`route --gone-flag`", "route --gone-flag"),
        ("`tools/gone`", "tools/gone"),
    ];

    fn checkout() -> Checkout {
        let mut checkout = Checkout::default();
        for (path, text) in FILES {
            checkout.add(path, || Some((*text).to_owned()));
        }
        checkout
    }

    #[test]
    fn what_exists_is_found_by_the_forms_of_its_path_or_name() {
        for document in GOOD {
            assert_eq!(violations(document, &checkout()), [""; 0], "{document}");
        }
    }

    #[test]
    fn a_path_or_name_that_does_not_exist_is_reported_with_its_line() {
        for (document, expected) in BAD {
            let violations = violations(document, &checkout());
            assert_eq!(violations.len(), 1, "{document}: {violations:?}");
            let line = 1 + document
                .find(expected)
                .map_or(0, |at| document[..at].matches('\n').count());
            let begin = format!("ARCHITECTURE.md:{line}: `{expected}` does not exist: ");
            assert!(violations[0].starts_with(&begin), "{}", violations[0]);
        }
    }
}
