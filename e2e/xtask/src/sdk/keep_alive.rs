//! Removes what frees the connection of a page: it lives as long as its document.

use anyhow::{Context, Result};

/// The start of the name of the export that frees an object.
const FREE_EXPORT: &str = "__wbg_connection_free";

/// Returns whether only the parts that [`strip_glue`] removes call the export.
pub(super) fn is_free(export: &str) -> bool {
    export == FREE_EXPORT
}

/// Removes the methods that free a connection, and the registry that calls one when the garbage
/// collector has found a connection.
///
/// # Errors
///
/// Returns an error if the glue does not have these parts, as another version of wasm-bindgen may
/// write them.
pub(super) fn strip_glue(glue: &str) -> Result<String> {
    let mut glue = glue.to_owned();
    for (start, end) in [
        ("__destroy_into_raw() {", "free() {"),
        ("free() {", "}"),
        ("ConnectionFinalization.register(", ";"),
        ("if (Symbol.dispose) Connection.prototype", ";"),
        ("const ConnectionFinalization =", "));"),
    ] {
        cut(&mut glue, start, end).with_context(|| {
            format!("the glue of wasm-bindgen has no `{start}`: adapt this file")
        })?;
    }
    Ok(glue)
}

/// Removes the text from `start` up to the next `end`; `end` itself stays if it begins the next part.
fn cut(text: &mut String, start: &str, end: &str) -> Option<()> {
    let from = text.find(start)?;
    let after_start = from + start.len();
    let length = text.get(after_start..)?.find(end)?;
    let keep_end = end.ends_with('{');
    let to = after_start + length + if keep_end { 0 } else { end.len() };
    text.replace_range(from..to, "");
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "export class Connection {\n__destroy_into_raw() {\nconst ptr = this.__wbg_ptr;\n}\nfree() {\nwasm.free(ptr, 0);\n}\nadd() {}\nconstructor() {\nConnectionFinalization.register(this, this.__wbg_ptr, this);\nreturn this;\n}\n}\nif (Symbol.dispose) Connection.prototype[Symbol.dispose] = Connection.prototype.free;\nconst ConnectionFinalization = (x)\n? {}\n: new FinalizationRegistry(ptr => wasm.free(ptr, 1));\nconst other = 1;\n";

    #[test]
    fn nothing_in_the_glue_frees_a_connection() {
        let stripped = strip_glue(GLUE).unwrap();
        let lines: Vec<_> = stripped.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "export class Connection {",
                "add() {}",
                "constructor() {",
                "return this;",
                "}",
                "}",
                "const other = 1;"
            ]
        );
    }

    #[test]
    fn glue_without_these_parts_is_an_error() {
        let error = strip_glue("export class Connection {}").unwrap_err();
        assert!(error.to_string().contains("adapt this file"));
    }
}
