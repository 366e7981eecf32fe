//! Collects what a module defines, uses and refers to.

use syn::{ForeignItem, Item, UseTree, Visibility};

use super::module_tree::{
    Definition, Module, ModuleId, ModuleTree, NamePath, Namespaces, Reference, ReferenceKind, Use,
};

/// The module or block that is being visited.
pub(super) struct Scope<'a> {
    pub(super) tree: &'a mut ModuleTree,
    pub(super) id: ModuleId,
}

impl Scope<'_> {
    pub(super) fn module(&mut self) -> &mut Module {
        &mut self.tree.modules[self.id]
    }

    /// Adds a child to the tree. It has the same file until its own file is loaded.
    pub(super) fn add_child(&mut self, is_block: bool) -> ModuleId {
        self.tree.add_module(Module {
            file: self.tree.modules[self.id].file,
            parent: Some(self.id),
            is_block,
            ..Module::default()
        })
    }

    /// Defines a child module and returns its id.
    pub(super) fn define_module(&mut self, item: &syn::ItemMod) -> ModuleId {
        let child = self.add_child(false);
        self.add_definition(
            &item.ident,
            Definition {
                module: Some(child),
                namespaces: Namespaces::TYPES,
                is_private: is_private(&item.vis),
                is_crate_wide: is_crate_wide(&item.vis),
            },
        );
        child
    }

    /// Defines the name of a `macro_rules!` macro.
    pub(super) fn define_macro(&mut self, name: &syn::Ident) {
        self.define(name, Namespaces::MACROS, &Visibility::Inherited);
    }

    /// Defines the names of an item that is neither a module nor a macro.
    pub(super) fn define_item(&mut self, item: &Item) {
        const TYPES: Namespaces = Namespaces::TYPES;
        const VALUES: Namespaces = Namespaces::VALUES;
        match item {
            Item::Const(it) => self.define(&it.ident, VALUES, &it.vis),
            Item::Enum(it) => self.define(&it.ident, TYPES, &it.vis),
            Item::Fn(it) => self.define(&it.sig.ident, VALUES, &it.vis),
            Item::Static(it) => self.define(&it.ident, VALUES, &it.vis),
            Item::Struct(it) => match it.fields {
                syn::Fields::Named(_) => self.define(&it.ident, TYPES, &it.vis),
                _ => self.define(&it.ident, Namespaces::TYPES_AND_VALUES, &it.vis),
            },
            Item::Trait(it) => self.define(&it.ident, TYPES, &it.vis),
            Item::TraitAlias(it) => self.define(&it.ident, TYPES, &it.vis),
            Item::Type(it) => self.define(&it.ident, TYPES, &it.vis),
            Item::Union(it) => self.define(&it.ident, TYPES, &it.vis),
            Item::ForeignMod(block) => {
                for item in &block.items {
                    match item {
                        ForeignItem::Fn(it) => self.define(&it.sig.ident, VALUES, &it.vis),
                        ForeignItem::Static(it) => self.define(&it.ident, VALUES, &it.vis),
                        ForeignItem::Type(it) => self.define(&it.ident, TYPES, &it.vis),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn define(&mut self, name: &syn::Ident, namespaces: Namespaces, visibility: &Visibility) {
        self.add_definition(
            name,
            Definition {
                module: None,
                namespaces,
                is_private: is_private(visibility),
                is_crate_wide: is_crate_wide(visibility),
            },
        );
    }

    fn add_definition(&mut self, name: &syn::Ident, definition: Definition) {
        let definitions = &mut self.module().definitions;
        let entry = definitions.entry(name.to_string()).or_default();
        entry.push(definition);
    }

    /// Adds the names of a `use` declaration, and a reference to each.
    pub(super) fn add_use(&mut self, item: &syn::ItemUse) {
        let path = NamePath {
            segments: Vec::new(),
            is_global: item.leading_colon.is_some(),
        };
        self.add_use_tree(&item.tree, path, is_private(&item.vis));
    }

    fn add_use_tree(&mut self, tree: &UseTree, mut path: NamePath, is_private: bool) {
        let (last, binding) = match tree {
            UseTree::Path(it) => {
                path.segments.push(it.ident.to_string());
                return self.add_use_tree(&it.tree, path, is_private);
            }
            UseTree::Group(it) => {
                for tree in &it.items {
                    self.add_use_tree(tree, path.clone(), is_private);
                }
                return;
            }
            UseTree::Glob(it) => {
                let line = it.star_token.spans[0].start().line;
                let glob = self.new_use(path, Namespaces::TYPES, line, is_private);
                return self.module().globs.push(glob);
            }
            UseTree::Name(it) => (&it.ident, &it.ident),
            UseTree::Rename(it) => (&it.ident, &it.rename),
        };
        let mut binding = binding.to_string();
        if last != "self" {
            path.segments.push(last.to_string());
        } else if binding == "self" {
            binding = path.segments.last().cloned().unwrap_or_default();
        }
        let line = last.span().start().line;
        let declaration = self.new_use(path, Namespaces::ALL, line, is_private);
        let uses = &mut self.module().uses;
        uses.entry(binding).or_default().push(declaration);
    }

    /// Creates a `use` declaration, and adds a reference to what it names.
    fn new_use(
        &mut self,
        path: NamePath,
        namespaces: Namespaces,
        line: usize,
        is_private: bool,
    ) -> Use {
        self.module().references.push(Reference {
            path: path.clone(),
            namespaces,
            line,
            kind: if is_private {
                ReferenceKind::Use
            } else {
                ReferenceKind::Reexport
            },
        });
        self.tree.uses += 1;
        Use {
            id: self.tree.uses,
            path,
            is_private,
        }
    }

    /// Adds a reference outside of `use` declarations.
    pub(super) fn add_reference(&mut self, path: NamePath, namespaces: Namespaces, line: usize) {
        self.module().references.push(Reference {
            path,
            namespaces,
            line,
            kind: ReferenceKind::Inline,
        });
    }
}

fn is_private(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Inherited)
}

fn is_crate_wide(visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(it) => it.path.is_ident("crate"),
        Visibility::Inherited => false,
    }
}
