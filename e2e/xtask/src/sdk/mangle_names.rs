//! Shortens the names that glue and wasm share.
//!
//! wasm-bindgen's names for imports and exports consist of the whole name and a hash, which hardly
//! compress and are part of both files. Only these two files use the names.

use std::collections::BTreeMap;

/// The prefix of the wasm's exports in the glue.
const EXPORT_PREFIX: &str = "wasm.";

/// The short names that were assigned so far, by long name.
#[derive(Default)]
pub(super) struct NameMangler {
    /// Functions of the glue that the wasm imports.
    imports: BTreeMap<String, String>,
    /// Exports of the wasm that the glue uses.
    exports: BTreeMap<String, String>,
}

impl NameMangler {
    /// Returns the short name of an import.
    pub(super) fn import(&mut self, name: &str) -> String {
        shorten(&mut self.imports, name)
    }

    /// Returns the short name of an export.
    pub(super) fn export(&mut self, name: &str) -> String {
        shorten(&mut self.exports, name)
    }

    /// Returns the glue with the short names instead of the long ones.
    pub(super) fn apply(&self, glue: &str) -> String {
        let mut renamed = String::with_capacity(glue.len());
        let mut rest = glue;
        while !rest.is_empty() {
            let end = rest.find(|character| !is_name_char(character));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            let names = if renamed.ends_with(EXPORT_PREFIX) {
                &self.exports
            } else {
                &self.imports
            };
            renamed.push_str(names.get(name).map_or(name, String::as_str));
            let (separator, next) = after.split_at(after.find(is_name_char).unwrap_or(after.len()));
            renamed.push_str(separator);
            rest = next;
        }
        renamed
    }
}

/// Returns `_0`, `_1` and so on: no name of the glue's own begins with an underscore and a digit.
fn shorten(names: &mut BTreeMap<String, String>, name: &str) -> String {
    let number = names.len();
    let short = names
        .entry(name.to_owned())
        .or_insert_with(|| format!("_{number}"));
    short.clone()
}

fn is_name_char(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_names_are_shortened_and_the_glues_own_names_stay() {
        let mut names = NameMangler::default();
        assert_eq!(names.import("__wbg_new_c1e45f504b662ad6"), "_0");
        assert_eq!(names.import("__wbg_close_37eb45aaf5eeb820"), "_1");
        assert_eq!(names.import("__wbg_new_c1e45f504b662ad6"), "_0");
        assert_eq!(names.export("memory"), "_0");
        assert_eq!(names.export("connection_new"), "_1");
        let glue = "export function __wbg_new_c1e45f504b662ad6(memory) { memory(); }\n\
                    export function __wbg_close_37eb45aaf5eeb820() { wasm.memory.grow(wasm.connection_newer); }\n\
                    wasm.connection_new(connection_new)";
        assert_eq!(
            names.apply(glue),
            "export function _0(memory) { memory(); }\n\
             export function _1() { wasm._0.grow(wasm.connection_newer); }\n\
             wasm._1(connection_new)"
        );
    }
}
