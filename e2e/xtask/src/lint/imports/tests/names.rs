//! Tests of the resolution of names to the files that define them.

use std::fs;

use tempfile::TempDir;

use super::super::load;
use super::graph;

/// Returns each import as `from:line name > to`, where files have neither their folder nor their
/// extension.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let graph = graph(files);
    let imports = graph.imports.iter().map(|((from, to), location)| {
        let import = format!("{} > {}", graph.display(*from, location), graph.files[*to]);
        import.replace("src/", "").replace(".rs", "")
    });
    let mut imports: Vec<_> = imports.collect();
    imports.sort();
    imports
}

#[test]
fn a_re_exported_name_is_imported_from_the_file_that_defines_it() {
    let files = [
        (
            "src/lib.rs",
            "mod inner;\nmod user;\npub use inner::Deep as Renamed;",
        ),
        (
            "src/inner.rs",
            "mod deep;\nmod other;\npub use self::deep::*;\npub use other::Other;",
        ),
        ("src/inner/deep.rs", "pub struct Deep;"),
        ("src/inner/other.rs", "pub struct Other;"),
        (
            "src/user.rs",
            "use crate::Renamed;\nuse crate::inner::Other;",
        ),
    ];
    assert_eq!(
        imports(&files),
        [
            "user:1 crate::Renamed > inner/deep",
            "user:2 crate::inner::Other > inner/other"
        ]
    );
}

#[test]
fn paths_in_expressions_types_patterns_and_macros_are_imports() {
    let user = r#"
        use super::a;
        fn expression() -> u8 { a::f::<u8>(1) }
        fn generic(_: Option<crate::b::B>) {}
        fn pattern(it: u8) -> bool { matches!(it, super::c::C) }
        fn tokens() { json!({ "d": super::d::Enum::Variant }) }
        fn block() { use crate::e as renamed; let _ = renamed::E; }
        fn qualified() { <u8 as crate::f::Trait>::method() }
        #[derive(Clone)]
        #[arg(default_value_t = crate::g::G)]
        struct Attribute;
    "#;
    let files = [
        (
            "src/lib.rs",
            "mod a; mod b; mod c; mod d; mod e; mod f; mod g; mod user;",
        ),
        ("src/a.rs", "pub fn f<T>(it: T) -> T { it }"),
        ("src/b.rs", "pub struct B;"),
        ("src/c.rs", "pub const C: u8 = 1;"),
        ("src/d.rs", "pub enum Enum { Variant }"),
        ("src/e.rs", "pub static E: u8 = 1;"),
        ("src/f.rs", "pub trait Trait { fn method(); }"),
        ("src/g.rs", "pub struct G;"),
        ("src/user.rs", user),
    ];
    assert_eq!(
        imports(&files),
        [
            "user:10 crate::g::G > g",
            "user:3 a::f > a",
            "user:4 crate::b::B > b",
            "user:5 super::c::C > c",
            "user:6 super::d::Enum::Variant > d",
            "user:7 renamed::E > e",
            "user:8 crate::f::Trait > f",
        ]
    );
}

#[test]
fn code_that_only_tests_compile_imports_nothing() {
    let imports = imports(&[
        (
            "src/lib.rs",
            "mod a;\nmod b;\n#[cfg(test)]\nmod tests;\n#[cfg(all(test, unix))]\nuse a::A;",
        ),
        ("src/tests.rs", "use crate::a::A;"),
        (
            "src/a.rs",
            "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }\n\
             impl A { #[cfg(test)] fn b() -> crate::b::B { crate::b::B } }\n\
             #[test]\nfn test() { crate::b::B; }",
        ),
        (
            "src/b.rs",
            "pub struct B;\n#[cfg(any(test, feature = \"x\"))]\nuse crate::a::A;",
        ),
    ]);
    assert_eq!(imports, ["b:3 crate::a::A > a"]);
}

#[test]
fn a_variable_with_the_name_of_a_function_is_not_an_import() {
    let imports = imports(&[
        ("src/lib.rs", "mod parent;"),
        (
            "src/parent.rs",
            "mod open;\npub use open::open;\nfn f(open: u8) -> u8 { open }",
        ),
        (
            "src/parent/open.rs",
            "pub fn open() {}\npub const LIMIT: u8 = 1;",
        ),
    ]);
    assert_eq!(imports, [""; 0]);
}

#[test]
fn a_module_and_a_function_may_have_the_same_name() {
    let imports = imports(&[
        ("src/lib.rs", "mod open;\nmod user;\npub use open::open;"),
        (
            "src/open.rs",
            "mod limit;\npub fn open() {}\npub use limit::LIMIT;",
        ),
        ("src/open/limit.rs", "pub const LIMIT: u8 = 1;"),
        (
            "src/user.rs",
            "fn f() -> u8 { crate::open(); crate::open::LIMIT }",
        ),
    ]);
    let expected = [
        "user:1 crate::open > open",
        "user:1 crate::open::LIMIT > open/limit",
    ];
    assert_eq!(imports, expected);
}

#[test]
fn an_item_that_a_macro_generates_is_defined_where_the_macro_is_called() {
    let ids = "macro_rules! id { ($name:ident) => { pub struct $name; } }\nid!(CallId);";
    let imports = imports(&[
        ("src/lib.rs", "mod ids;\nmod user;\npub use ids::*;"),
        ("src/ids.rs", ids),
        ("src/user.rs", "pub struct User(crate::CallId);"),
    ]);
    assert_eq!(imports, ["user:1 crate::CallId > ids"]);
}

#[test]
fn files_of_modules_are_found_by_the_compilers_rules() {
    let imports = imports(&[
        (
            "src/lib.rs",
            "mod a;\nmod inline { pub mod b; }\n#[path = \"other/name.rs\"]\nmod c;",
        ),
        (
            "src/a/mod.rs",
            "mod d;\nuse d::D;\nuse crate::inline::b::B;",
        ),
        ("src/a/d.rs", "pub struct D;"),
        ("src/inline/b.rs", "pub struct B;"),
        ("src/other/name.rs", "mod e;\nuse e::E;"),
        ("src/other/e.rs", "pub struct E;"),
    ]);
    assert_eq!(
        imports,
        [
            "a/mod:2 d::D > a/d",
            "a/mod:3 crate::inline::b::B > inline/b",
            "other/name:2 e::E > other/e"
        ]
    );
}

#[test]
fn a_module_without_a_file_is_an_error_with_its_name() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("lib.rs");
    fs::write(&root, "mod gone;").unwrap();
    let error = load::load(folder.path(), &[root]).unwrap_err().to_string();
    assert!(
        error.contains("lib.rs declares the module `gone`"),
        "{error}"
    );
}
