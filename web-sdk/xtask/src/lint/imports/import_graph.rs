//! Which file of a crate imports which, and what it imports of other crates.

use std::collections::BTreeMap;

use super::module_tree::{FileId, ModuleId, ModuleTree, Reference, ReferenceKind};
use super::resolve::Target;

#[derive(Debug, Default)]
pub(super) struct ImportGraph {
    pub(super) files: Vec<String>,
    /// From the file that uses a name to the file that defines it; the first location of each pair.
    pub(super) imports: BTreeMap<(FileId, FileId), Location>,
    pub(super) foreign: Vec<ForeignImport>,
    /// Paths into a module of the crate that lacks the name: what this check cannot see.
    pub(super) unresolved: Vec<(FileId, Location)>,
}

/// The line of a name, in a file that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) line: usize,
    /// The path as it is written.
    pub(super) name: String,
}

#[derive(Debug)]
pub(super) struct ForeignImport {
    pub(super) crate_name: String,
    pub(super) file: FileId,
    pub(super) location: Location,
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
                // To name a module is to import nothing: what is used of it has a path of its own.
                Target::Module(_) => {}
                Target::Item(module) => {
                    let is_own = reference.kind == ReferenceKind::Reexport
                        && tree.is_within(module, tree.enclosing_module(from));
                    let to = tree.modules[module].file;
                    if to != file && !is_own {
                        self.add_import(file, to, location.clone());
                    }
                }
                Target::Foreign(crate_name) => {
                    let is_name_alone = reference.kind == ReferenceKind::Inline
                        && reference.path.segments.len() == 1;
                    if !is_name_alone {
                        self.foreign.push(ForeignImport {
                            crate_name,
                            file,
                            location: location.clone(),
                        });
                    }
                }
                Target::Missing(_) => self.unresolved.push((file, location.clone())),
            }
        }
    }

    /// `file:line` and the name there.
    pub(super) fn display(&self, file: FileId, location: &Location) -> String {
        format!("{}:{} {}", self.files[file], location.line, location.name)
    }

    fn add_import(&mut self, from: FileId, to: FileId, location: Location) {
        let known = self
            .imports
            .entry((from, to))
            .or_insert_with(|| location.clone());
        if location.line < known.line {
            *known = location;
        }
    }
}
