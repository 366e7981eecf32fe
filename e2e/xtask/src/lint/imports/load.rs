//! Loads the module tree of a crate, from the root files of its targets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::module_tree::{Module, ModuleId, ModuleTree};
use super::visitor::{ModuleDeclaration, visit_file};

/// A file that is to be loaded into a module that is in the tree already.
struct PendingFile {
    module: ModuleId,
    path: PathBuf,
    /// The folder of the files of its child modules.
    children: PathBuf,
}

/// Parses all modules that the root files reach, except those that only tests compile.
pub(super) fn load(workspace: &Path, roots: &[PathBuf]) -> Result<ModuleTree> {
    let mut tree = ModuleTree::default();
    let mut pending: Vec<PendingFile> = Vec::new();
    for root in roots {
        pending.push(PendingFile {
            module: tree.add_module(Module::default()),
            path: root.clone(),
            children: folder(root).to_owned(),
        });
    }
    while let Some(next) = pending.pop() {
        let text = fs::read_to_string(&next.path)
            .with_context(|| format!("cannot read {}", next.path.display()))?;
        let syntax = syn::parse_file(&text)
            .with_context(|| format!("cannot parse {}", next.path.display()))?;
        let name = next.path.strip_prefix(workspace).unwrap_or(&next.path);
        tree.modules[next.module].file = tree.file_id(&name.display().to_string());
        for declaration in visit_file(&mut tree, next.module, &syntax) {
            pending.push(locate(&next, &declaration)?);
        }
    }
    Ok(tree)
}

/// Finds the file of a module by the compiler's rules.
fn locate(parent: &PendingFile, declaration: &ModuleDeclaration) -> Result<PendingFile> {
    let mut base = parent.children.clone();
    base.extend(&declaration.inline_modules);
    if let Some(path) = &declaration.path {
        if declaration.inline_modules.is_empty() {
            base = folder(&parent.path).to_owned();
        }
        let path = base.join(path);
        return Ok(PendingFile {
            module: declaration.module,
            children: folder(&path).to_owned(),
            path,
        });
    }
    let children = base.join(&declaration.name);
    for path in [children.with_extension("rs"), children.join("mod.rs")] {
        if path.is_file() {
            return Ok(PendingFile {
                module: declaration.module,
                path,
                children,
            });
        }
    }
    bail!(
        "{} declares the module `{}`, but there is no {}.rs",
        parent.path.display(),
        declaration.name,
        children.display()
    );
}

fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}
