//! One owner for each type name: a name that can be used outside of its module is that of one type,
//! in all shipped crates and in the SDK's TypeScript.
//!
//! Names that only their own module or its parent can use are not checked: there, `State` is clear.
//! The crates outside of the workspace are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::module_tree::{ModuleTree, Namespaces};

/// Crates that are not shipped.
const NOT_SHIPPED: &[&str] = &["e2e/", "web-sdk/testing/raw-page/"];

/// Folders of TypeScript.
const TYPESCRIPT: &[&str] = &["web-sdk/js", "web-sdk/lowdefy/src"];

/// Folders that describe one page and its messages, each for another language or environment. A type
/// of two of them has the same name in both, so that it is found by one word. The longest prefix of
/// a file's path counts.
const PAGE_SIDES: &[&str] = &[
    "bridge/protocol/",
    "web-sdk/core/",
    "web-sdk/js/",
    "web-sdk/js/mcp-web-node.ts",
    "web-sdk/js/mcp-web-react.ts",
    "web-sdk/js/mcp-web-svelte.ts",
    "web-sdk/js/mcp-web-vue.ts",
    "web-sdk/js/node/",
    "web-sdk/native/",
    "web-sdk/page-tools/",
    "web-sdk/testing/",
    "web-sdk/wasm/",
];

/// Names that several types have, with the reason. At most [`MAX_EXCEPTIONS`].
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "CallToolResult",
        "MCP's name of the result, in Rust and TypeScript",
    ),
    (
        "CheckedConfig",
        "bridge and agent are started in the same way",
    ),
    ("Config", "each program has one, by its usual name"),
    (
        "ConversationSummary",
        "what an agent sends is what a page receives",
    ),
    (
        "Effect",
        "realm and page are state machines of the same form",
    ),
    (
        "ServerHandle",
        "bridge and agent are started in the same way",
    ),
    ("StartError", "bridge and agent are started in the same way"),
];

const MAX_EXCEPTIONS: usize = 20;

/// The types that each name has, by the file that defines them.
#[derive(Debug, Default)]
pub(super) struct TypeNames(BTreeMap<String, Vec<String>>);

impl TypeNames {
    /// Adds the types of a crate, if it is shipped.
    pub(super) fn add_crate(&mut self, tree: &ModuleTree) {
        for module in &tree.modules {
            let file = &tree.files[module.file];
            if NOT_SHIPPED.iter().any(|folder| file.starts_with(folder)) {
                continue;
            }
            for (name, definitions) in &module.definitions {
                for definition in definitions {
                    let is_type = definition.module.is_none()
                        && definition.namespaces.overlaps(Namespaces::TYPES);
                    if is_type && definition.is_crate_wide {
                        self.add(name, file);
                    }
                }
            }
        }
    }

    /// Adds the types that the files of TypeScript export, except those of tests.
    pub(super) fn add_typescript(&mut self, root: &Path) -> Result<()> {
        let mut folders: Vec<_> = TYPESCRIPT.iter().map(|it| root.join(it)).collect();
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("cannot list {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                let name = path.file_name().and_then(|it| it.to_str()).unwrap_or("");
                if path.is_dir() {
                    if !matches!(name, "node_modules" | "test" | "tests") {
                        folders.push(path);
                    }
                } else if name.ends_with(".ts") && !name.contains(".test.") {
                    let file = path
                        .strip_prefix(root)
                        .unwrap_or(&path)
                        .display()
                        .to_string();
                    let text =
                        fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
                    for name in text.lines().filter_map(exported_type) {
                        self.add(name, &file);
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, file: &str) {
        let files = self.0.entry(name.to_owned()).or_default();
        files.push(file.to_owned());
    }

    /// Describes each name that several types have, and each exception that is not one.
    pub(super) fn violations(&self) -> Vec<String> {
        self.check(EXCEPTIONS)
    }

    fn check(&self, exceptions: &[(&str, &str)]) -> Vec<String> {
        let mut violations = Vec::new();
        let mut unused: BTreeSet<_> = exceptions.iter().map(|(name, _)| *name).collect();
        for (name, files) in &self.0 {
            if has_one_owner(files) || unused.remove(name.as_str()) {
                continue;
            }
            violations.push(format!("{name}: {}", files.join(", ")));
        }
        for name in unused {
            violations.push(format!(
                "{name}: remove this exception, the name has one owner"
            ));
        }
        if exceptions.len() > MAX_EXCEPTIONS {
            violations.push(format!("more than {MAX_EXCEPTIONS} exceptions"));
        }
        violations
    }
}

/// Returns whether the types of one name are one type, or the same on different sides of a page.
fn has_one_owner(files: &[String]) -> bool {
    if files.len() < 2 {
        return true;
    }
    let sides: Option<BTreeSet<_>> = files.iter().map(|file| page_side(file)).collect();
    sides.is_some_and(|sides| sides.len() == files.len())
}

fn page_side(file: &str) -> Option<&'static str> {
    let sides = PAGE_SIDES.iter().filter(|side| file.starts_with(**side));
    sides.copied().max_by_key(|side| side.len())
}

/// Returns the name of the type that a line of TypeScript defines and exports.
fn exported_type(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("export ")?;
    for modifier in ["declare ", "abstract "] {
        rest = rest.strip_prefix(modifier).unwrap_or(rest);
    }
    let kinds = ["class ", "interface ", "type ", "enum "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(types: &[(&str, &str)]) -> TypeNames {
        let mut names = TypeNames::default();
        for (name, file) in types {
            names.add(name, file);
        }
        names
    }

    #[test]
    fn a_name_of_two_types_is_a_violation() {
        let names = names(&[("Call", "bridge/a.rs"), ("Call", "agent/b.rs")]);
        assert_eq!(names.check(&[]), ["Call: bridge/a.rs, agent/b.rs"]);
        assert!(names.check(&[("Call", "a reason")]).is_empty());
    }

    #[test]
    fn the_sides_of_a_page_share_a_name_once_each() {
        let native = ("Tool", "web-sdk/native/src/tool.rs");
        let js = ("Tool", "web-sdk/js/types/tool.ts");
        let node = ("Tool", "web-sdk/js/node/tool.ts");
        assert!(names(&[native, js, node]).check(&[]).is_empty());
        assert_eq!(names(&[native, js, js]).check(&[]).len(), 1);
        assert_eq!(
            names(&[native, ("Tool", "bridge/realm/tool.rs")])
                .check(&[])
                .len(),
            1
        );
    }

    #[test]
    fn an_exception_that_is_none_is_a_violation() {
        let unused = names(&[]).check(&[("Call", "a reason")]);
        assert_eq!(
            unused,
            ["Call: remove this exception, the name has one owner"]
        );
        let many: Vec<_> = (0..=MAX_EXCEPTIONS).map(|_| ("Call", "")).collect();
        let both = names(&[("Call", "a.rs"), ("Call", "b.rs")]).check(&many);
        assert_eq!(both, ["more than 20 exceptions"]);
    }

    #[test]
    fn exported_types_of_typescript_are_found() {
        for (line, name) in [
            ("export class McpWeb extends Connection {", Some("McpWeb")),
            ("export declare abstract class A<B> {", Some("A")),
            ("export type Target = string;", Some("Target")),
            ("export type { Target } from \"./x.js\";", None),
            ("export { type Target, find } from \"./x.js\";", None),
            ("export const type = 1;", None),
            ("interface Local {", None),
        ] {
            assert_eq!(exported_type(line), name, "{line}");
        }
    }
}
