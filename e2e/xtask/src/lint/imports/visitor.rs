//! Visits the syntax of a file once, and collects the modules, items and paths in it.

use std::collections::HashSet;
use std::mem;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, QSelf, Stmt, Token, Visibility};

use super::attributes::{impl_item_attributes, is_test_only, item_attributes, path_attribute};
use super::module_tree::{ModuleId, ModuleTree, NamePath, Namespaces};
use super::scope::Scope;
use super::tokens;

/// A declaration `mod x;`, whose file is still to be loaded.
#[derive(Debug)]
pub(super) struct ModuleDeclaration {
    pub(super) module: ModuleId,
    pub(super) name: String,
    /// The names of the inline modules around the declaration.
    pub(super) inline_modules: Vec<String>,
    /// The path in `#[path = "…"]`.
    pub(super) path: Option<String>,
}

/// Adds the content of a file to the tree, and returns the modules whose files it declares.
pub(super) fn visit_file(
    tree: &mut ModuleTree,
    module: ModuleId,
    file: &syn::File,
) -> Vec<ModuleDeclaration> {
    let mut visitor = Visitor {
        scope: Scope { tree, id: module },
        inline_modules: Vec::new(),
        variables: HashSet::new(),
        declarations: Vec::new(),
    };
    visitor.visit_file(file);
    visitor.declarations
}

struct Visitor<'a> {
    scope: Scope<'a>,
    /// The names of the inline modules around what is being visited.
    inline_modules: Vec<String>,
    /// The variables of the enclosing function: a path of one such name is not an item.
    variables: HashSet<String>,
    declarations: Vec<ModuleDeclaration>,
}

impl Visitor<'_> {
    fn add_module(&mut self, item: &syn::ItemMod) {
        let module = self.scope.define_module(item);
        let Some((_, items)) = &item.content else {
            self.declarations.push(ModuleDeclaration {
                module,
                name: item.ident.to_string(),
                inline_modules: self.inline_modules.clone(),
                path: path_attribute(&item.attrs),
            });
            return;
        };
        self.inline_modules.push(item.ident.to_string());
        self.in_scope(module, |this| {
            for item in items {
                this.visit_item(item);
            }
        });
        self.inline_modules.pop();
    }

    fn add_item_macro(&mut self, item: &syn::ItemMacro) {
        let identifiers = tokens::identifiers(item.mac.tokens.clone());
        self.scope.module().macro_identifiers.extend(identifiers);
        match &item.ident {
            Some(name) => {
                self.scope.define_macro(name);
                self.add_tokens(item.mac.tokens.clone());
            }
            None => self.visit_macro(&item.mac),
        }
    }

    fn in_scope(&mut self, id: ModuleId, visit: impl FnOnce(&mut Self)) {
        let outer = mem::replace(&mut self.scope.id, id);
        visit(self);
        self.scope.id = outer;
    }

    fn in_function(&mut self, variables: HashSet<String>, visit: impl FnOnce(&mut Self)) {
        let outer = mem::replace(&mut self.variables, variables);
        visit(self);
        self.variables = outer;
    }

    /// Adds a path that may be `<T as Trait>::member`, which refers to the trait.
    fn add_qualified(&mut self, qself: Option<&QSelf>, path: &syn::Path, namespaces: Namespaces) {
        match qself {
            Some(qself) => {
                self.visit_qself(qself);
                self.add_path(path, qself.position, Namespaces::TYPES);
            }
            None => self.add_path(path, path.segments.len(), namespaces),
        }
        for segment in &path.segments {
            self.visit_path_segment(segment);
        }
    }

    /// Adds the first `len` segments of a path.
    fn add_path(&mut self, path: &syn::Path, len: usize, namespaces: Namespaces) {
        let segments: Vec<_> = path.segments.iter().take(len).collect();
        if let Some(first) = segments.first() {
            let line = first.ident.span().start().line;
            let path = NamePath {
                segments: segments.iter().map(|it| it.ident.to_string()).collect(),
                is_global: path.leading_colon.is_some(),
            };
            self.add_reference(path, namespaces, line);
        }
    }

    fn add_tokens(&mut self, tokens: TokenStream) {
        for it in tokens::paths(tokens) {
            self.add_reference(it.path, it.namespaces, it.line);
        }
    }

    fn add_reference(&mut self, path: NamePath, namespaces: Namespaces, line: usize) {
        let is_variable = path.segments.len() == 1 && self.variables.contains(&path.segments[0]);
        if !is_variable {
            self.scope.add_reference(path, namespaces, line);
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(item_attributes(item)) {
            return;
        }
        self.scope.define_item(item);
        match item {
            Item::Mod(it) => self.add_module(it),
            Item::Use(it) => self.scope.add_use(it),
            Item::Macro(it) => self.add_item_macro(it),
            Item::Fn(it) => {
                let variables = Variables::find(|variables| variables.visit_item_fn(it));
                self.in_function(variables, |this| visit::visit_item_fn(this, it));
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !is_test_only(impl_item_attributes(item)) {
            let variables = Variables::find(|variables| variables.visit_impl_item(item));
            self.in_function(variables, |this| visit::visit_impl_item(this, item));
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        let variables = Variables::find(|variables| variables.visit_trait_item(item));
        self.in_function(variables, |this| visit::visit_trait_item(this, item));
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_test_only(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_test_only(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_test_only(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        if block.stmts.iter().any(|it| matches!(it, Stmt::Item(_))) {
            let id = self.scope.add_child(true);
            self.in_scope(id, |this| visit::visit_block(this, block));
        } else {
            visit::visit_block(self, block);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_qualified(None, path, Namespaces::TYPES);
    }

    fn visit_type_path(&mut self, it: &'ast syn::TypePath) {
        self.add_qualified(it.qself.as_ref(), &it.path, Namespaces::TYPES);
    }

    fn visit_expr_path(&mut self, it: &'ast syn::ExprPath) {
        self.add_qualified(it.qself.as_ref(), &it.path, Namespaces::VALUES);
    }

    fn visit_pat_tuple_struct(&mut self, it: &'ast syn::PatTupleStruct) {
        self.add_qualified(it.qself.as_ref(), &it.path, Namespaces::VALUES);
        for pattern in &it.elems {
            self.visit_pat(pattern);
        }
    }

    /// Adds a reference for a single name in a pattern, unless it is a variable.
    fn visit_pat_ident(&mut self, it: &'ast syn::PatIdent) {
        if !is_variable(&it.ident) {
            let path = NamePath {
                segments: vec![it.ident.to_string()],
                is_global: false,
            };
            let line = it.ident.span().start().line;
            self.add_reference(path, Namespaces::VALUES, line);
        }
        visit::visit_pat_ident(self, it);
    }

    /// Visits a macro. The arguments of most macros are expressions; in other macros, paths are
    /// found in the tokens.
    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        self.add_path(&it.path, it.path.segments.len(), Namespaces::MACROS);
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        match expressions.parse2(it.tokens.clone()) {
            Ok(expressions) => expressions.iter().for_each(|it| self.visit_expr(it)),
            Err(_) => self.add_tokens(it.tokens.clone()),
        }
    }

    /// Visits an attribute, in which `a::b` is a path, and a single name is part of the attribute's
    /// own syntax.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let path = attribute.path();
        if path.segments.len() > 1 {
            self.add_path(path, path.segments.len(), Namespaces::MACROS);
        }
        if let syn::Meta::List(list) = &attribute.meta {
            let mut paths = tokens::paths(list.tokens.clone());
            paths.retain(|it| it.path.segments.len() > 1);
            for it in paths {
                self.add_reference(it.path, it.namespaces, it.line);
            }
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The variables of a function, with those of all its blocks and closures.
#[derive(Default)]
struct Variables(HashSet<String>);

impl Variables {
    fn find(visit: impl FnOnce(&mut Self)) -> HashSet<String> {
        let mut variables = Self::default();
        visit(&mut variables);
        variables.0
    }
}

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, it: &'ast syn::PatIdent) {
        if is_variable(&it.ident) {
            self.0.insert(it.ident.to_string());
        }
        visit::visit_pat_ident(self, it);
    }
}

/// Returns whether a name in a pattern is a variable and not a constant, by its first letter.
fn is_variable(name: &syn::Ident) -> bool {
    !name.to_string().starts_with(char::is_uppercase)
}
