//! Finds what a file of TypeScript or JavaScript imports, by its text.

/// How a file imports another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ImportKind {
    /// `import { a } from "…"`, `export { a } from "…"`, `import "…"`
    Value,
    /// `import type { A } from "…"`, `import("…").A`
    Type,
    /// `import("…")`
    Later,
}

/// Returns what each import of a text names.
pub(super) fn imports(text: &str) -> Vec<(&str, ImportKind)> {
    let mut found = Vec::new();
    for (start, line) in lines(text) {
        let indentation = line.len() - line.trim_start().len();
        found.extend(import_statement(&text[start + indentation..]));
    }
    for (start, call) in text.match_indices("import(") {
        found.extend(import_call(&text[..start], &text[start + call.len()..]));
    }
    found
}

/// Returns the lines with the positions at which they start.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        (start, line)
    })
}

/// Returns the import at the start of a text.
fn import_statement(text: &str) -> Option<(&str, ImportKind)> {
    let (keyword, rest) = text.split_at_checked("import".len())?;
    if !matches!(keyword, "import" | "export") {
        return None;
    }
    let (rest, kind) = match rest.strip_prefix(" type") {
        Some(rest) if rest.starts_with([' ', '{', '*']) => (rest, ImportKind::Type),
        _ => (rest, ImportKind::Value),
    };
    let names_end = rest.find(['"', '\''])?;
    let names = &rest[..names_end];
    let is_name = |it: char| it.is_alphanumeric() || it.is_whitespace() || "{},*_$".contains(it);
    if !names.starts_with([' ', '{', '*']) || !names.chars().all(is_name) {
        return None;
    }
    let names = names.trim();
    let is_from = names.ends_with("from") || (keyword == "import" && names.is_empty());
    is_from
        .then(|| quoted(&rest[names_end..]))
        .flatten()
        .map(|(specifier, _)| (specifier, kind))
}

/// Returns the import by `import(`, with what is before and after that. The type of a module that is
/// loaded later (`typeof import("…")`) is not an import.
fn import_call<'a>(before: &str, after: &'a str) -> Option<(&'a str, ImportKind)> {
    let (specifier, rest) = quoted(after.trim_start())?;
    if before.ends_with("typeof ") {
        return None;
    }
    let member = rest.trim_start().strip_prefix(").");
    let is_type = member.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_uppercase()));
    let kind = if is_type {
        ImportKind::Type
    } else {
        ImportKind::Later
    };
    Some((specifier, kind))
}

/// Returns the string literal at the start of a text, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|it| "\"'".contains(*it))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_import_is_found() {
        use ImportKind::{Later, Type, Value};
        for (text, expected) in [
            (
                "import { a, type B } from \"./x.ts\";",
                Some(("./x.ts", Value)),
            ),
            (
                "import {\n  a,\n  b,\n} from './x.ts';",
                Some(("./x.ts", Value)),
            ),
            ("import a, * as b from \"./x.ts\";", Some(("./x.ts", Value))),
            ("import \"./x.ts\";", Some(("./x.ts", Value))),
            ("export * from \"./x.ts\";", Some(("./x.ts", Value))),
            ("export { a } from \"./x.ts\";", Some(("./x.ts", Value))),
            (
                "  import type { A } from \"./x.ts\";",
                Some(("./x.ts", Type)),
            ),
            ("export type * from \"./x.ts\";", Some(("./x.ts", Type))),
            (
                "/** @param {import(\"./x.js\").A} a */",
                Some(("./x.js", Type)),
            ),
            ("await import(\"./x.ts\");", Some(("./x.ts", Later))),
            ("import(\"./x.ts\").then(run);", Some(("./x.ts", Later))),
            ("let load: typeof import(\"./x.ts\");", None),
            ("import.meta.resolve(\"./x.ts\");", None),
            ("export const a = \"./x.ts\";", None),
            ("export { a };\nconst b = \"./x.ts\";", None),
            ("importAll(\"./x.ts\");", None),
        ] {
            assert_eq!(imports(text).first().copied(), expected, "{text}");
        }
    }
}
