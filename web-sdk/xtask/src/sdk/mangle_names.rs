//! Names that glue and wasm share, made short.
//!
//! wasm-bindgen calls what the two share by its whole name and a hash, which no compression makes small and
//! which stands in both files. Nobody but they reads these names.

use std::collections::BTreeMap;

/// What the glue calls the exports of the wasm.
const WASM: &str = "wasm.";

/// The short names given so far, by the long ones.
#[derive(Default)]
pub(super) struct NameMangler {
    /// Functions of the glue that the wasm imports.
    imports: BTreeMap<String, String>,
    /// What the wasm exports for the glue.
    exports: BTreeMap<String, String>,
}

impl NameMangler {
    pub(super) fn import(&mut self, name: &str) -> String {
        shorten(&mut self.imports, name)
    }

    pub(super) fn export(&mut self, name: &str) -> String {
        shorten(&mut self.exports, name)
    }

    /// The glue with the short names.
    pub(super) fn apply(&self, glue: &str) -> String {
        let mut renamed = String::with_capacity(glue.len());
        let mut rest = glue;
        while !rest.is_empty() {
            let end = rest.find(|character| !is_name_char(character));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            let names = match renamed.ends_with(WASM) {
                true => &self.exports,
                false => &self.imports,
            };
            renamed.push_str(names.get(name).map_or(name, String::as_str));
            let between = after.find(is_name_char).unwrap_or(after.len());
            renamed.push_str(&after[..between]);
            rest = &after[between..];
        }
        renamed
    }
}

/// No name of the glue's own begins with an underscore and a digit.
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
    fn the_glue_uses_the_short_names_and_keeps_its_own() {
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
