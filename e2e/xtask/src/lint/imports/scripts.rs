//! Checks that the files of TypeScript and JavaScript do not import each other in a circle.
//!
//! Two graphs must have no cycle. The first one has all imports at the top of a file, those of types
//! included, because a file that needs another one's types cannot be read or changed without it. The
//! second one has the imports of values, also those by `import()`. An `import()` is not in the first
//! graph: a module that is loaded later may use the types of the module that loads it.
//!
//! Names of packages, and files that are generated or that are served at another address, are not
//! followed.

mod specifiers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::cycles::{components, shortest_cycle};
use crate::Workspace;
use crate::lint::checkout_files::checkout_files;
use specifiers::{ImportKind, imports};

/// The endings of files that import others.
const EXTENSIONS: &[&str] = &["ts", "mts", "tsx", "js", "mjs", "jsx", "vue", "svelte"];

/// The files, and the kinds of the imports from one file to another.
pub(super) struct ScriptGraph {
    files: Vec<PathBuf>,
    imports: BTreeMap<(usize, usize), BTreeSet<ImportKind>>,
}

impl ScriptGraph {
    /// Reads all files of the checkout.
    pub(super) fn load(workspace: &Workspace) -> Result<Self> {
        let mut texts = Vec::new();
        for file in checkout_files(workspace)? {
            if extension(Path::new(&file)).is_some_and(|it| EXTENSIONS.contains(&it)) {
                let text = fs::read_to_string(workspace.path(&file))
                    .with_context(|| format!("cannot read {file}"))?;
                texts.push((PathBuf::from(file), text));
            }
        }
        Ok(Self::new(&texts))
    }

    fn new(texts: &[(PathBuf, String)]) -> Self {
        let files: Vec<_> = texts.iter().map(|(path, _)| path.clone()).collect();
        let ids: BTreeMap<&Path, usize> = files
            .iter()
            .enumerate()
            .map(|(id, path)| (path.as_path(), id))
            .collect();
        let mut imports_between = BTreeMap::<_, BTreeSet<_>>::new();
        for (from, (path, text)) in texts.iter().enumerate() {
            for (specifier, kind) in imports(text) {
                if let Some(to) = resolve(&ids, path, specifier) {
                    imports_between.entry((from, to)).or_default().insert(kind);
                }
            }
        }
        Self {
            files,
            imports: imports_between,
        }
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "TypeScript and JavaScript: {} files, {} imports",
            self.files.len(),
            self.imports.len()
        )
    }

    /// Describes each group of files that import each other, with a shortest cycle in it.
    pub(super) fn cycles(&self) -> Vec<String> {
        let read_together = self.cycles_by(&[ImportKind::Value, ImportKind::Type]);
        let run_together = self.cycles_by(&[ImportKind::Value, ImportKind::Later]);
        let all: BTreeSet<_> = read_together.into_iter().chain(run_together).collect();
        all.into_iter().collect()
    }

    fn cycles_by(&self, kinds: &[ImportKind]) -> Vec<String> {
        let mut edges = vec![Vec::new(); self.files.len()];
        for ((from, to), found) in &self.imports {
            if kinds.iter().any(|kind| found.contains(kind)) {
                edges[*from].push(*to);
            }
        }
        let groups = components(&edges);
        let descriptions = groups.iter().map(|group| {
            let mut text = format!(
                "{} files import each other; a shortest cycle:\n",
                group.len()
            );
            let cycle = shortest_cycle(&edges, group);
            for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                let [from, to] = [from, to].map(|id| self.files[*id].display());
                let _ = writeln!(text, "    {from} imports {to}");
            }
            text
        });
        descriptions.collect()
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|it| it.to_str())
}

/// Returns the file that a relative specifier names, as bundlers and compilers find it.
fn resolve(ids: &BTreeMap<&Path, usize>, importer: &Path, specifier: &str) -> Option<usize> {
    let path = specifier.split('?').next()?;
    if !path.starts_with("./") && !path.starts_with("../") {
        return None;
    }
    let named = normalize(&importer.parent()?.join(path));
    let mut candidates = vec![named.clone()];
    for (built, source) in [("js", "ts"), ("js", "tsx"), ("mjs", "mts")] {
        if extension(&named) == Some(built) {
            candidates.push(named.with_extension(source));
        }
    }
    for extension in EXTENSIONS {
        candidates.push(PathBuf::from(format!("{}.{extension}", named.display())));
        candidates.push(named.join(format!("index.{extension}")));
    }
    candidates
        .iter()
        .find_map(|path| ids.get(path.as_path()).copied())
}

/// Resolves `.` and `..` without reading the file system.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(texts: &[(&str, &str)]) -> Vec<String> {
        let texts: Vec<_> = texts
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        ScriptGraph::new(&texts).cycles()
    }

    #[test]
    fn files_that_need_each_other_are_a_cycle() {
        let found = cycles(&[
            ("js/a.ts", "import { b } from \"./inner/b.ts\";\n"),
            ("js/inner/b.ts", "import type { A } from \"../a\";\n"),
            ("js/c.ts", "import { b } from \"./inner/b.js\";\n"),
        ]);
        let [cycle] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(cycle.starts_with("2 files"), "{cycle}");
        assert!(cycle.contains("js/inner/b.ts imports js/a.ts"), "{cycle}");
    }

    #[test]
    fn a_module_that_is_loaded_later_may_use_types_but_not_values_of_its_loader() {
        let loader = ("a.ts", "const load = () => import(\"./b.ts\");\n");
        let with_type = ("b.ts", "import type { A } from \"./a.ts\";\n");
        let with_value = ("b.ts", "import { a } from \"./a.ts\";\n");
        assert!(cycles(&[loader, with_type]).is_empty());
        assert_eq!(cycles(&[loader, with_value]).len(), 1);
    }
}
