//! The modules of one crate, with what each defines, brings into scope and refers to.

use std::collections::{HashMap, HashSet};

/// The index of a module in its tree.
pub(super) type ModuleId = usize;
/// The index of a file in its tree.
pub(super) type FileId = usize;

/// The modules of all targets of one crate. The root module of a target has no parent.
#[derive(Debug, Default)]
pub(super) struct ModuleTree {
    /// Paths relative to the workspace's root, in the order in which they were loaded.
    pub(super) files: Vec<String>,
    pub(super) modules: Vec<Module>,
    /// The number of `use` declarations in all modules.
    pub(super) uses: usize,
}

/// A module, or a block with its own items or `use` declarations: Rust resolves names in both
/// alike.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) file: FileId,
    pub(super) parent: Option<ModuleId>,
    pub(super) is_block: bool,
    pub(super) definitions: HashMap<String, Vec<Definition>>,
    pub(super) uses: HashMap<String, Vec<Use>>,
    pub(super) globs: Vec<Use>,
    pub(super) references: Vec<Reference>,
    /// The identifiers in the module's macros, among them the names of the items that macros
    /// generate.
    pub(super) macro_identifiers: HashSet<String>,
}

/// An item of a module, under a name.
#[derive(Debug)]
pub(super) struct Definition {
    /// The id of the module, if the item is one.
    pub(super) module: Option<ModuleId>,
    pub(super) namespaces: Namespaces,
    pub(super) is_private: bool,
    /// Whether the whole crate, or other crates, can see it: `pub` or `pub(crate)`.
    pub(super) is_crate_wide: bool,
}

/// A `use` declaration of one name, or with `::*` of all names of a module.
#[derive(Debug)]
pub(super) struct Use {
    /// Unique in its tree.
    pub(super) id: usize,
    pub(super) path: NamePath,
    pub(super) is_private: bool,
}

/// A path as written, without generic arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePath {
    pub(super) segments: Vec<String>,
    /// Whether it begins with `::`, which makes its first segment a crate.
    pub(super) is_global: bool,
}

/// An occurrence of a path in the code.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) path: NamePath,
    pub(super) namespaces: Namespaces,
    pub(super) line: usize,
    pub(super) kind: ReferenceKind,
}

/// Where a path occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    /// In a private `use` declaration.
    Use,
    /// In a `pub use` or `pub(…) use` declaration.
    Reexport,
    /// Anywhere else.
    Inline,
}

/// A set of Rust's namespaces: a module and a function may have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespaces(u8);

impl Namespaces {
    pub(super) const TYPES: Self = Self(1);
    pub(super) const VALUES: Self = Self(2);
    pub(super) const MACROS: Self = Self(4);
    pub(super) const TYPES_AND_VALUES: Self = Self(3);
    pub(super) const ALL: Self = Self(7);

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl ModuleTree {
    /// Adds a module and returns its id.
    pub(super) fn add_module(&mut self, module: Module) -> ModuleId {
        self.modules.push(module);
        self.modules.len() - 1
    }

    /// Returns the id of a file, which is added if it is new.
    pub(super) fn file_id(&mut self, path: &str) -> FileId {
        let id = self.files.iter().position(|file| file == path);
        id.unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        })
    }

    /// Returns the module around a block, or the module itself.
    pub(super) fn enclosing_module(&self, mut module: ModuleId) -> ModuleId {
        while let (true, Some(parent)) = (self.modules[module].is_block, self.parent(module)) {
            module = parent;
        }
        module
    }

    pub(super) fn parent(&self, module: ModuleId) -> Option<ModuleId> {
        self.modules[module].parent
    }

    /// Returns the module itself, its parent, and so on up to the root.
    pub(super) fn ancestors(&self, module: ModuleId) -> impl Iterator<Item = ModuleId> {
        std::iter::successors(Some(module), |module| self.parent(*module))
    }

    /// Returns whether a module is another one or below it.
    pub(super) fn is_within(&self, module: ModuleId, ancestor: ModuleId) -> bool {
        self.ancestors(module).any(|module| module == ancestor)
    }
}

impl std::fmt::Display for NamePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = if self.is_global { "::" } else { "" };
        write!(f, "{start}{}", self.segments.join("::"))
    }
}
