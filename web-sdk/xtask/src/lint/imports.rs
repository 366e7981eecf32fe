//! Which file imports which: no cycles between the files of a crate, foreign crates only where they are
//! meant to be, and no import from a lower layer of the bridge to a higher one.
//!
//! An *import* goes from the file that uses a name to the file that defines it, wherever the name passes
//! on the way: a re-export is no definition, and to name a module is to import nothing. Code that only
//! tests see does not count.
//!
//! Reading order: `crates` and `load` find the files, `visitor` and `scope` write down in `module_tree`
//! what is in them (with `attributes` and `tokens`), `resolve` finds what a path names, `import_graph` is
//! the result, and `cycles`, `foreign_crates` and `layers` are what it has to comply with. What the syntax
//! does not show is not seen: methods called on values, names that derives and other macros make up, and
//! functions that serde's attributes name in strings.

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
#[cfg(test)]
mod tests;
mod tokens;
mod visitor;

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::Workspace;
use crate::step::{Outcome, step};
use cycles::{components, shortest_cycle};
use import_graph::ImportGraph;

/// Prints what each crate's files import of each other, and fails if that breaks a rule.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    step("imports between files", || {
        let mut graphs = Vec::new();
        let mut all_cycles = Vec::new();
        for roots in crates::all(workspace)? {
            let graph = ImportGraph::new(load::load(workspace.root(), &roots.files)?);
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

        let graphs: Vec<_> = graphs.iter().collect();
        let foreign = foreign_crates::violations(&graphs, foreign_crates::RULES);
        let upward: Vec<_> = graphs
            .iter()
            .flat_map(|graph| layers::violations(graph, layers::FOLDER, layers::LAYERS))
            .collect();
        let found = [
            (&all_cycles, "cycles between files"),
            (&foreign, "violations of the rules for foreign crates"),
            (&upward, "imports from a higher layer"),
        ];
        report(&found)?;
        Ok(Outcome::Done(()))
    })
}

/// Prints the violations of each kind, and fails if there are any.
fn report(found: &[(&Vec<String>, &str)]) -> Result<()> {
    let mut sums = Vec::new();
    for (violations, kind) in found {
        if !violations.is_empty() {
            println!("\n{kind}:");
            sums.push(format!("{kind}: {}", violations.len()));
        }
        for violation in *violations {
            println!("  {violation}");
        }
    }
    if !sums.is_empty() {
        bail!("mend what is listed above ({})", sums.join("; "));
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

/// The groups of files that import each other, each with a shortest cycle of imports.
fn cycles(graph: &ImportGraph) -> Vec<String> {
    let mut next = vec![Vec::new(); graph.files.len()];
    for (from, to) in graph.imports.keys() {
        next[*from].push(*to);
    }
    let groups = components(&next);
    let texts = groups.iter().map(|group| {
        let mut files: Vec<_> = group.iter().map(|file| &graph.files[*file]).collect();
        files.sort();
        let mut text = format!("{} files import each other:\n", files.len());
        for file in files {
            let _ = writeln!(text, "    {file}");
        }
        text.push_str("  by a shortest way:\n");
        let cycle = shortest_cycle(&next, group);
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let import = graph.display(*from, &graph.imports[&(*from, *to)]);
            let _ = writeln!(text, "    {import} is from {}", graph.files[*to]);
        }
        text
    });
    texts.collect()
}
