//! Which file of a crate imports which, and which foreign crates it imports.

use std::collections::BTreeMap;

use super::module_tree::{FileId, ModuleId, ModuleTree, Reference, ReferenceKind};
use super::resolve::Target;

/// The imports of one crate's files.
#[derive(Debug, Default)]
pub(super) struct ImportGraph {
    /// Paths relative to the workspace's root.
    pub(super) files: Vec<String>,
    /// The imports from the file that uses a name to the file that defines it, with the first
    /// location of each pair.
    pub(super) imports: BTreeMap<(FileId, FileId), Location>,
    /// Each use of a name from a foreign crate.
    pub(super) foreign: Vec<ForeignImport>,
    /// Paths into a module of the crate that lacks the name, for example because a derive generates
    /// it.
    pub(super) unresolved: Vec<(FileId, Location)>,
}

/// A name that a file uses, and the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) line: usize,
    /// The path as written.
    pub(super) name: String,
}

/// A use of a name from a foreign crate.
#[derive(Debug)]
pub(super) struct ForeignImport {
    pub(super) crate_name: String,
    pub(super) file: FileId,
    pub(super) line: usize,
}

impl ImportGraph {
    pub(super) fn new(tree: ModuleTree) -> Self {
        let mut graph = Self::default();
        for (id, module) in tree.modules.iter().enumerate() {
            for reference in &module.references {
                graph.add(&tree, id, reference);
            }
        }
        graph.files = tree.files;
        graph
    }

    fn add(&mut self, tree: &ModuleTree, from: ModuleId, reference: &Reference) {
        let file = tree.modules[from].file;
        let location = Location {
            line: reference.line,
            name: reference.path.to_string(),
        };
        for target in tree.resolve(from, &reference.path, reference.namespaces) {
            match target {
                // This is not an import, because each name that is used from the module has its
                // own path.
                Target::Module(_) => {}
                Target::Item(module) => {
                    // A module may export its children's items without importing them.
                    let is_own = reference.kind == ReferenceKind::Reexport
                        && tree.is_within(module, tree.enclosing_module(from));
                    let to = tree.modules[module].file;
                    if to != file && !is_own {
                        self.add_import(file, to, location.clone());
                    }
                }
                Target::Foreign(crate_name) => {
                    // A single name is one of the prelude, or a generic parameter.
                    let is_single_name = reference.kind == ReferenceKind::Inline
                        && reference.path.segments.len() == 1;
                    if !is_single_name {
                        self.foreign.push(ForeignImport {
                            crate_name,
                            file,
                            line: reference.line,
                        });
                    }
                }
                Target::Missing(_) => self.unresolved.push((file, location.clone())),
            }
        }
    }

    /// Formats a location as `file:line name`.
    pub(super) fn display(&self, file: FileId, location: &Location) -> String {
        format!("{}:{} {}", self.files[file], location.line, location.name)
    }

    /// Formats an import as `file:line imports name from file`.
    pub(super) fn display_import(&self, from: FileId, to: FileId) -> String {
        let Location { line, name } = &self.imports[&(from, to)];
        format!(
            "{}:{line} imports {name} from {}",
            self.files[from], self.files[to]
        )
    }

    fn add_import(&mut self, from: FileId, to: FileId, location: Location) {
        let first = self
            .imports
            .entry((from, to))
            .or_insert_with(|| location.clone());
        if location.line < first.line {
            *first = location;
        }
    }
}
