//! The layers of the bridge: a module imports from its own layer and from lower ones.

use std::collections::BTreeSet;

use super::import_graph::ImportGraph;

/// The folder of the modules that have layers.
pub(super) const FOLDER: &str = "bridge/src/";

/// The layers from low to high.
///
/// Modules of one layer may import each other, as long as there is no cycle between their files.
/// Modules that are missing here are reported, and may import everything.
pub(super) const LAYERS: &[&[&str]] = &[
    &["websocket", "config", "counters", "lifecycle", "budget"],
    &["result_store"],
    &["hub"],
    &["calls", "agent_queries", "cluster", "web"],
    &["mcp", "compat"],
    &["http", "admin"],
    &["server", "in_memory"],
    &["program", "fuzz"],
    &["command_line"],
];

/// Describes each import from a layer to a higher one.
pub(super) fn violations(graph: &ImportGraph, folder: &str, layers: &[&[&str]]) -> Vec<String> {
    let mut violations = Vec::new();
    for (from, to) in graph.imports.keys() {
        let modules = [from, to].map(|file| module(folder, &graph.files[*file]));
        let [Some(importer), Some(imported)] = modules else {
            continue;
        };
        let [Some(from_layer), Some(to_layer)] = [importer, imported].map(|it| layer(layers, it))
        else {
            continue;
        };
        if from_layer < to_layer {
            violations.push(format!(
                "{}: `{importer}` is in a lower layer than `{imported}`",
                graph.display_import(*from, *to)
            ));
        }
    }
    violations
}

/// Returns the modules of the folder that are in no layer, except the crate's root files.
pub(super) fn unlayered<'a>(
    graph: &'a ImportGraph,
    folder: &str,
    layers: &[&[&str]],
) -> BTreeSet<&'a str> {
    let modules = graph.files.iter().filter_map(|file| module(folder, file));
    modules
        .filter(|module| layer(layers, module).is_none())
        .collect()
}

fn layer(layers: &[&[&str]], module: &str) -> Option<usize> {
    layers.iter().position(|layer| layer.contains(&module))
}

/// Returns the top-level module that a file in the folder belongs to.
fn module<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    let first = file.strip_prefix(folder)?.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib" && name != "main").then_some(name)
}
