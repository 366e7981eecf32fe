//! Resolves a path in the code to the module that defines what it names, through `use` and
//! re-exports.

use super::module_tree::{ModuleId, ModuleTree, NamePath, Namespaces, Use};

/// The target that a path resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(ModuleId),
    /// An item or a member of one, by the module that defines the item.
    Item(ModuleId),
    /// A name from a foreign crate or the prelude, or a generic parameter, by the path's first
    /// segment.
    Foreign(String),
    /// The module that lacks the next segment of the path.
    Missing(ModuleId),
}

impl ModuleTree {
    /// Resolves a path. There are several targets if several namespaces have the name.
    pub(super) fn resolve(
        &self,
        from: ModuleId,
        path: &NamePath,
        namespaces: Namespaces,
    ) -> Vec<Target> {
        Lookup {
            tree: self,
            importer: from,
            open_uses: Vec::new(),
        }
        .path(from, path, namespaces)
    }
}

/// The state of resolving one path.
struct Lookup<'a> {
    tree: &'a ModuleTree,
    /// The module whose view decides which private names are visible.
    importer: ModuleId,
    /// The ids of the `use` declarations that are being followed, none of which is followed again.
    open_uses: Vec<usize>,
}

impl Lookup<'_> {
    fn path(&mut self, from: ModuleId, path: &NamePath, namespaces: Namespaces) -> Vec<Target> {
        let last = path.segments.len().saturating_sub(1);
        let mut targets = Vec::new();
        for (index, segment) in path.segments.iter().enumerate() {
            let namespaces = if index == last {
                namespaces
            } else {
                Namespaces::TYPES
            };
            targets = if index > 0 {
                self.next(&targets, segment, namespaces)
            } else if path.is_global {
                vec![Target::Foreign(segment.clone())]
            } else {
                self.first(from, segment, namespaces)
            };
        }
        targets
    }

    /// Resolves the first segment of a path in a module.
    fn first(&mut self, from: ModuleId, name: &str, namespaces: Namespaces) -> Vec<Target> {
        let tree = self.tree;
        let module = tree.enclosing_module(from);
        match name {
            "crate" => {
                return tree
                    .ancestors(from)
                    .last()
                    .map(Target::Module)
                    .into_iter()
                    .collect();
            }
            "self" => return vec![Target::Module(module)],
            "super" => {
                return tree
                    .parent(module)
                    .map(Target::Module)
                    .into_iter()
                    .collect();
            }
            "Self" => return Vec::new(),
            _ => {}
        }
        for scope in tree.ancestors(from) {
            // A module may use the macros that its ancestors define before it.
            let is_in_scope = tree.is_within(scope, module) || namespaces == Namespaces::MACROS;
            let targets = if is_in_scope {
                self.member(scope, name, namespaces)
            } else {
                Vec::new()
            };
            if !targets.is_empty() {
                return targets;
            }
        }
        vec![Target::Foreign(name.to_owned())]
    }

    /// Resolves the next segment. Members of items and foreign names keep their target.
    fn next(&mut self, targets: &[Target], name: &str, namespaces: Namespaces) -> Vec<Target> {
        // In `a::b`, `a` may be both a module and a type, and only one of them has `b`.
        let mut resolved = Vec::new();
        let mut missing = Vec::new();
        for target in targets {
            let Target::Module(module) = *target else {
                resolved.push(target.clone());
                continue;
            };
            let members = match name {
                "self" => vec![Target::Module(module)],
                "super" => self.first(module, name, namespaces),
                _ => self.public_member(module, name, namespaces),
            };
            if members.is_empty() {
                missing.push(Target::Missing(module));
            }
            resolved.extend(members);
        }
        if resolved.is_empty() {
            missing
        } else {
            resolved
        }
    }

    /// Resolves a name in a module, which may be that of an item that a macro generates.
    fn public_member(
        &mut self,
        module: ModuleId,
        name: &str,
        namespaces: Namespaces,
    ) -> Vec<Target> {
        let members = self.member(module, name, namespaces);
        if members.is_empty() && self.tree.modules[module].macro_identifiers.contains(name) {
            return vec![Target::Item(module)];
        }
        members
    }

    /// Resolves a name in a module: by its definitions and `use` declarations, else by its globs.
    fn member(&mut self, module: ModuleId, name: &str, namespaces: Namespaces) -> Vec<Target> {
        let tree = self.tree;
        let scope = &tree.modules[module];
        let definitions = scope.definitions.get(name).into_iter().flatten();
        let mut targets: Vec<Target> = definitions
            .filter(|it| it.namespaces.overlaps(namespaces) && self.sees(module, it.is_private))
            .map(|it| it.module.map_or(Target::Item(module), Target::Module))
            .collect();
        for declaration in scope.uses.get(name).into_iter().flatten() {
            if self.sees(module, declaration.is_private) {
                targets.extend(self.follow(module, declaration, |this| {
                    this.path(module, &declaration.path, namespaces)
                }));
            }
        }
        if targets.is_empty() {
            for glob in &scope.globs {
                if self.sees(module, glob.is_private) {
                    targets.extend(self.follow(module, glob, |this| {
                        let sources = this.path(module, &glob.path, Namespaces::TYPES);
                        this.glob_member(&sources, name, namespaces)
                    }));
                }
            }
        }
        targets.retain(|target| !matches!(target, Target::Missing(_)));
        targets.dedup();
        targets
    }

    /// Resolves a name in the modules that a glob imports from.
    fn glob_member(
        &mut self,
        sources: &[Target],
        name: &str,
        namespaces: Namespaces,
    ) -> Vec<Target> {
        let modules = sources.iter().filter_map(|source| match source {
            Target::Module(module) => Some(*module),
            _ => None,
        });
        modules
            .flat_map(|module| self.public_member(module, name, namespaces))
            .collect()
    }

    /// Runs a lookup through a `use` declaration of `importer`, unless the declaration is open
    /// already.
    fn follow(
        &mut self,
        importer: ModuleId,
        declaration: &Use,
        lookup: impl FnOnce(&mut Self) -> Vec<Target>,
    ) -> Vec<Target> {
        if self.open_uses.contains(&declaration.id) {
            return Vec::new();
        }
        self.open_uses.push(declaration.id);
        let outer = std::mem::replace(&mut self.importer, importer);
        let targets = lookup(self);
        self.importer = outer;
        self.open_uses.pop();
        targets
    }

    /// Returns whether the importer sees a name of a module: a private one is visible in the module
    /// and below it.
    fn sees(&self, module: ModuleId, is_private: bool) -> bool {
        let owner = self.tree.enclosing_module(module);
        !is_private || self.tree.is_within(self.importer, owner)
    }
}
