//! Checks which file imports which: the files of a crate have no cycles, foreign crates are
//! imported only where the rules allow it, and no module of the bridge imports one of a higher
//! layer. The same syntax shows `type_names` which names several types have.
//!
//! An *import* goes from the file that uses a name to the file that defines it, whatever path the
//! name is used by: a re-export is not a definition, and a path to a module alone is not an import.
//! Code that only tests compile is ignored.
//!
//! Reading order: `crates` and `load` find the files; `visitor` and `scope` collect in
//! `module_tree` what the files define and use (with `attributes` and `tokens`); `resolve` finds
//! what a path names; `import_graph` is the result; `cycles`, `foreign_crates` and `layers` check
//! it. `scripts` checks the files of TypeScript and JavaScript. The check reads only the syntax, so it misses methods that are called on values, names that
//! derives and other macros generate, and functions that serde's attributes name in strings.

mod attributes;
mod crates;
mod cycles;
mod foreign_crates;
mod import_graph;
mod layers;
mod load;
mod module_tree;
mod resolve;
mod scope;
mod scripts;
#[cfg(test)]
mod tests;
mod tokens;
mod type_names;
mod visitor;

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::Workspace;
use crate::step::{Outcome, step};
use cycles::{components, shortest_cycle};
use import_graph::ImportGraph;
use scripts::ScriptGraph;
use type_names::TypeNames;

/// Prints a summary of each crate's imports and all violations, and fails if there are any.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    step("imports between files", || {
        let mut graphs = Vec::new();
        let mut all_cycles = Vec::new();
        let mut type_names = TypeNames::default();
        for roots in crates::all(workspace)? {
            let tree = load::load(workspace.root(), &roots.files)?;
            type_names.add_crate(&tree);
            let graph = ImportGraph::new(tree);
            let cycles = cycles(&graph);
            println!("    {}: {}", roots.name, summary([&graph], cycles.len()));
            for (file, location) in &graph.unresolved {
                println!("      not found: {}", graph.display(*file, location));
            }
            let unlayered = layers::unlayered(&graph, layers::FOLDER, layers::LAYERS);
            if !unlayered.is_empty() {
                let modules: Vec<_> = unlayered.into_iter().collect();
                println!("      not in a layer: {}", modules.join(", "));
            }
            all_cycles.extend(cycles);
            graphs.push(graph);
        }
        println!(
            "    {} crates: {}",
            graphs.len(),
            summary(&graphs, all_cycles.len())
        );

        let scripts = ScriptGraph::load(workspace)?;
        println!("    {}", scripts.summary());
        all_cycles.extend(scripts.cycles());

        let foreign = foreign_crates::violations(&graphs, foreign_crates::RULES);
        let upward: Vec<_> = graphs
            .iter()
            .flat_map(|graph| layers::violations(graph, layers::FOLDER, layers::LAYERS))
            .collect();
        type_names.add_typescript(workspace.root())?;
        report(&[
            ("cycles between files", all_cycles),
            ("violations of the rules for foreign crates", foreign),
            ("imports from a higher layer", upward),
            ("type names with several owners", type_names.violations()),
        ])?;
        Ok(Outcome::Done(()))
    })
}

/// Prints the violations of each kind, and fails if there are any.
fn report(kinds: &[(&str, Vec<String>)]) -> Result<()> {
    let mut sums = Vec::new();
    for (kind, violations) in kinds {
        if violations.is_empty() {
            continue;
        }
        println!("\n{kind}:");
        for violation in violations {
            println!("  {violation}");
        }
        sums.push(format!("{kind}: {}", violations.len()));
    }
    if !sums.is_empty() {
        bail!("fix what is listed above ({})", sums.join("; "));
    }
    Ok(())
}

fn summary<'a>(graphs: impl IntoIterator<Item = &'a ImportGraph>, cycles: usize) -> String {
    let (mut files, mut imports) = (0, 0);
    for graph in graphs {
        files += graph.files.len();
        imports += graph.imports.len();
    }
    let cycles = match cycles {
        0 => "no cycle".to_owned(),
        1 => "1 cycle".to_owned(),
        _ => format!("{cycles} cycles"),
    };
    format!("{files} files, {imports} imports, {cycles}")
}

/// Describes each group of files that import each other, with a shortest cycle of imports in it.
fn cycles(graph: &ImportGraph) -> Vec<String> {
    let mut edges = vec![Vec::new(); graph.files.len()];
    for (from, to) in graph.imports.keys() {
        edges[*from].push(*to);
    }
    let groups = components(&edges);
    let descriptions = groups.iter().map(|group| {
        let mut files: Vec<_> = group.iter().map(|file| &graph.files[*file]).collect();
        files.sort();
        let mut text = format!("{} files import each other:\n", files.len());
        for file in files {
            let _ = writeln!(text, "    {file}");
        }
        text.push_str("  a shortest cycle:\n");
        let cycle = shortest_cycle(&edges, group);
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let _ = writeln!(text, "    {}", graph.display_import(*from, *to));
        }
        text
    });
    descriptions.collect()
}
