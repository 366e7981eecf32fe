//! Tests of the rules for foreign crates and layers.

use super::super::foreign_crates::{self, Rule};
use super::super::layers;
use super::graph;

const RULES: &[Rule] = &[Rule {
    crates: &["axum", "hyper"],
    reason: "Only the edge uses HTTP.",
    importers: &["src/http", "src/main.rs"],
}];

#[test]
fn a_violation_has_one_line_for_each_file_and_foreign_crate() {
    let graph = graph(&[
        ("src/lib.rs", "mod http;\nmod http_client;\nmod realm;"),
        ("src/http.rs", "mod route;\nuse axum::Router;"),
        ("src/http/route.rs", "fn f() { hyper::f() }"),
        ("src/http_client.rs", "use ::hyper as h;"),
        (
            "src/realm.rs",
            "#[cfg(test)]\nuse axum::Router;\nfn f() {\n    g(axum::f)\n}\nuse axum::{A, B};",
        ),
    ]);
    assert_eq!(
        foreign_crates::violations(&[graph], RULES),
        [
            "src/http_client.rs:1 may not import hyper (1 use). Only the edge uses HTTP. \
             The files that may are listed in e2e/xtask/src/lint/imports/foreign_crates.rs.",
            "src/realm.rs:4 may not import axum (3 uses). Only the edge uses HTTP. \
             The files that may are listed in e2e/xtask/src/lint/imports/foreign_crates.rs.",
            "src/main.rs does not import axum or hyper: \
             remove it from e2e/xtask/src/lint/imports/foreign_crates.rs",
        ]
    );
}

#[test]
fn a_module_with_the_name_of_a_crate_is_not_the_crate() {
    let graph = graph(&[
        ("src/lib.rs", "mod model;"),
        ("src/model.rs", "mod axum;\nfn f() { axum::f() }"),
        ("src/model/axum.rs", "pub fn f() {}"),
    ]);
    assert!(graph.foreign.is_empty(), "{:?}", graph.foreign);
}

#[test]
fn importing_from_a_higher_layer_is_a_violation() {
    let graph = graph(&[
        ("src/lib.rs", "mod hub;\nmod calls;\nmod peer;\nmod other;"),
        ("src/hub.rs", "mod timer;\npub struct Hub;"),
        ("src/hub/timer.rs", "use crate::calls::Call;"),
        (
            "src/calls.rs",
            "use crate::{hub::Hub, peer::Peer, other::Other};\npub struct Call;",
        ),
        ("src/peer.rs", "pub struct Peer;"),
        ("src/other.rs", "use crate::calls::Call;\npub struct Other;"),
    ]);
    let layers: &[&[&str]] = &[&["hub"], &["calls", "peer"]];
    assert_eq!(
        layers::violations(&graph, "src/", layers),
        [
            "src/hub/timer.rs:1 imports crate::calls::Call from src/calls.rs: \
             `hub` is in a lower layer than `calls`"
        ]
    );
    let unlayered: Vec<_> = layers::unlayered(&graph, "src/", layers)
        .into_iter()
        .collect();
    assert_eq!(unlayered, ["other"]);
}
