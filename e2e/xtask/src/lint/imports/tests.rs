//! Tests of the import check, with small crates that the tests write.

mod names;
mod rules;

use std::fs;

use tempfile::TempDir;

use super::import_graph::ImportGraph;
use super::{cycles, load};

/// Returns the imports of a crate that consists of these files; its root is `src/lib.rs`.
fn graph(files: &[(&str, &str)]) -> ImportGraph {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = folder.path().join("src/lib.rs");
    let graph = ImportGraph::new(load::load(folder.path(), &[root]).unwrap());
    assert_eq!(graph.unresolved, [], "every path must be found");
    graph
}

#[test]
fn a_cycle_is_described_with_the_line_of_each_import() {
    let graph = graph(&[
        ("src/lib.rs", "mod a;\nmod b;\nmod c;"),
        ("src/a.rs", "//! A.\n\nuse crate::b::B;\n\npub struct A(B);"),
        ("src/b.rs", "use super::{c::{self, C}};\npub struct B(C);"),
        ("src/c.rs", "pub struct C(Vec<super::a::A>);"),
    ]);
    let cycles = cycles(&graph);
    assert_eq!(cycles.len(), 1);
    for line in [
        "3 files import each other:",
        "src/a.rs:3 imports crate::b::B from src/b.rs",
        "src/b.rs:1 imports super::c::C from src/c.rs",
        "src/c.rs:1 imports super::a::A from src/a.rs",
    ] {
        assert!(cycles[0].contains(line), "{line}\n{}", cycles[0]);
    }
}

#[test]
fn a_cycle_through_a_re_export_is_found() {
    let graph = graph(&[
        ("src/lib.rs", "mod a;\nmod b;\npub(crate) use b::B;"),
        ("src/a.rs", "use crate::B;\npub struct A(B);"),
        (
            "src/b.rs",
            "pub struct B;\nimpl B { fn a(_: crate::a::A) {} }",
        ),
    ]);
    assert_eq!(cycles(&graph).len(), 1);
}

#[test]
fn re_exporting_a_child_that_imports_its_parent_is_not_a_cycle() {
    let parent = "mod child;\npub(crate) use child::Child;\npub struct Parent;";
    let child = ("src/parent/child.rs", "pub struct Child(super::Parent);");
    let root = ("src/lib.rs", "mod parent;");
    let graph_without_use = graph(&[root, ("src/parent.rs", parent), child]);
    assert_eq!(cycles(&graph_without_use).len(), 0);

    let parent = format!("{parent}\nfn new() -> Option<Child> {{ None }}");
    let graph_with_use = graph(&[root, ("src/parent.rs", &parent), child]);
    let cycles = cycles(&graph_with_use);
    assert!(cycles[0].contains("src/parent.rs:4 imports Child from src/parent/child.rs"));
}
