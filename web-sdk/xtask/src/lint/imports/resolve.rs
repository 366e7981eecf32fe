//! From a path in the code to the module that defines what it names, through `use` and re-exports.

use super::module_tree::{ModuleId, ModuleTree, NamePath, Namespaces, Use};

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(ModuleId),
    /// An item, or something that belongs to one, by the module that defines it.
    Item(ModuleId),
    /// Something of a crate, of the prelude, or a generic parameter, by the path's first segment.
    Foreign(String),
    /// This module was reached, and lacks the next segment.
    Missing(ModuleId),
}

impl ModuleTree {
    /// All that a path may name: more than one target where namespaces share the name.
    pub(super) fn resolve(
        &self,
        from: ModuleId,
        path: &NamePath,
        wanted: Namespaces,
    ) -> Vec<Target> {
        Lookup {
            tree: self,
            importer: from,
            followed: Vec::new(),
        }
        .path(from, path, wanted)
    }
}

/// One look-up of a path.
struct Lookup<'a> {
    tree: &'a ModuleTree,
    importer: ModuleId,
    /// The `use` declarations that are being followed: a name cannot come from itself.
    followed: Vec<usize>,
}

impl Lookup<'_> {
    fn path(&mut self, from: ModuleId, path: &NamePath, wanted: Namespaces) -> Vec<Target> {
        let last = path.segments.len().saturating_sub(1);
        let mut targets = Vec::new();
        for (index, segment) in path.segments.iter().enumerate() {
            let wanted = if index == last {
                wanted
            } else {
                Namespaces::TYPES
            };
            targets = if index > 0 {
                self.next(&targets, segment, wanted)
            } else if path.is_global {
                vec![Target::Foreign(segment.clone())]
            } else {
                self.first(from, segment, wanted)
            };
        }
        targets
    }

    /// What a path's first segment names, seen from inside a module.
    fn first(&mut self, from: ModuleId, name: &str, wanted: Namespaces) -> Vec<Target> {
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
            // The text of a module may use the macros that stand above it in its parents.
            let is_in_scope = tree.is_within(scope, module) || wanted == Namespaces::MACROS;
            let targets = if is_in_scope {
                self.member(scope, name, wanted)
            } else {
                Vec::new()
            };
            if !targets.is_empty() {
                return targets;
            }
        }
        vec![Target::Foreign(name.to_owned())]
    }

    /// What one more segment leads to. An item's own members, and all that is foreign, stay what they are.
    fn next(&mut self, targets: &[Target], name: &str, wanted: Namespaces) -> Vec<Target> {
        // `a::b` where `a` is a module and a type: only one of them has `b`.
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for target in targets {
            let Target::Module(module) = *target else {
                found.push(target.clone());
                continue;
            };
            let members = match name {
                "self" => vec![Target::Module(module)],
                "super" => self.first(module, name, wanted),
                _ => self.public_member(module, name, wanted),
            };
            if members.is_empty() {
                missing.push(Target::Missing(module));
            }
            found.extend(members);
        }
        if found.is_empty() { missing } else { found }
    }

    /// Like `member`, and also the items that macros make.
    fn public_member(&mut self, module: ModuleId, name: &str, wanted: Namespaces) -> Vec<Target> {
        let members = self.member(module, name, wanted);
        if members.is_empty() && self.tree.modules[module].macro_words.contains(name) {
            return vec![Target::Item(module)];
        }
        members
    }

    /// What a name means in a module: what is defined or used there by name, else what a glob brings.
    fn member(&mut self, module: ModuleId, name: &str, wanted: Namespaces) -> Vec<Target> {
        let tree = self.tree;
        let scope = &tree.modules[module];
        let definitions = scope.definitions.get(name).into_iter().flatten();
        let mut targets: Vec<Target> = definitions
            .filter(|it| it.namespaces.overlaps(wanted) && self.sees(module, it.is_private))
            .map(|it| it.module.map_or(Target::Item(module), Target::Module))
            .collect();
        for used in scope.uses.get(name).into_iter().flatten() {
            if self.sees(module, used.is_private) {
                let found = self.follow(module, used, |this| this.path(module, &used.path, wanted));
                targets.extend(found);
            }
        }
        if targets.is_empty() {
            for glob in &scope.globs {
                if self.sees(module, glob.is_private) {
                    targets.extend(self.follow(module, glob, |this| {
                        let sources = this.path(module, &glob.path, Namespaces::TYPES);
                        this.glob_member(&sources, name, wanted)
                    }));
                }
            }
        }
        targets.retain(|target| !matches!(target, Target::Missing(_)));
        targets.dedup();
        targets
    }

    fn glob_member(&mut self, sources: &[Target], name: &str, wanted: Namespaces) -> Vec<Target> {
        let modules = sources.iter().filter_map(|source| match source {
            Target::Module(module) => Some(*module),
            _ => None,
        });
        modules
            .flat_map(|module| self.public_member(module, name, wanted))
            .collect()
    }

    /// Runs a look-up through a `use` declaration of `importer`, unless it is being followed already.
    fn follow(
        &mut self,
        importer: ModuleId,
        used: &Use,
        look_up: impl FnOnce(&mut Self) -> Vec<Target>,
    ) -> Vec<Target> {
        if self.followed.contains(&used.id) {
            return Vec::new();
        }
        self.followed.push(used.id);
        let outer = std::mem::replace(&mut self.importer, importer);
        let targets = look_up(self);
        self.importer = outer;
        self.followed.pop();
        targets
    }

    fn sees(&self, module: ModuleId, is_private: bool) -> bool {
        let owner = self.tree.enclosing_module(module);
        !is_private || self.tree.is_within(self.importer, owner)
    }
}
