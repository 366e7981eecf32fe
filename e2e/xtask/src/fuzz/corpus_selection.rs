//! Selects inputs by the code that they reach, which libFuzzer reports when it merges corpora.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// An input, and the numbers of the places in the code that it reaches.
struct Input<'a> {
    path: &'a str,
    reached: BTreeSet<u32>,
}

/// Returns at most `limit` inputs: first the one that reaches most, and then each time the one that
/// adds most to the inputs before it.
///
/// # Errors
///
/// Returns an error if the report has another form than expected.
pub(super) fn most_valuable(report: &str, limit: usize) -> Result<Vec<PathBuf>> {
    let mut inputs = parse(report).context("libFuzzer's report of the merge has another form")?;
    let mut selected = Vec::new();
    let mut reached = BTreeSet::new();
    while selected.len() < limit {
        let gain = |input: &Input<'_>| input.reached.difference(&reached).count();
        let best = inputs
            .iter()
            .enumerate()
            .max_by_key(|(_, input)| gain(input));
        let Some((index, _)) = best.filter(|(_, input)| gain(input) > 0) else {
            break;
        };
        let input = inputs.swap_remove(index);
        selected.push(input.path.into());
        reached.extend(input.reached);
    }
    Ok(selected)
}

/// Parses the report: the number of inputs, the number of those in the first folder, their paths,
/// and for each input a line `FT` with its number and what it reaches.
fn parse(report: &str) -> Option<Vec<Input<'_>>> {
    let mut lines = report.lines();
    let count: usize = lines.next()?.parse().ok()?;
    let _in_first_folder = lines.next()?;
    let mut inputs: Vec<_> = lines
        .by_ref()
        .take(count)
        .map(|path| Input {
            path,
            reached: BTreeSet::new(),
        })
        .collect();
    for line in lines {
        if let Some(numbers) = line.strip_prefix("FT ") {
            let (index, numbers) = numbers.split_once(' ').unwrap_or((numbers, ""));
            let reached = numbers.split_whitespace().map(str::parse);
            let input = inputs.get_mut(index.parse::<usize>().ok()?)?;
            input.reached = reached.collect::<Result<_, _>>().ok()?;
        }
    }
    Some(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "3\n1\n/a\n/b\n/c\nSTARTED 0 5\nFT 0 1 2\nCOV 0 9\nSTARTED 1 6\n\
        FT 1 1 2 3 4\nSTARTED 2 7\nFT 2 4 5\nFT 0 1\n";

    #[test]
    fn the_inputs_that_reach_most_together_are_selected() {
        let selected = |limit| most_valuable(REPORT, limit).unwrap();
        assert_eq!(selected(1), [PathBuf::from("/b")]);
        // Nothing that `/a` reaches is new.
        assert_eq!(selected(9), ["/b", "/c"].map(PathBuf::from));
        assert!(most_valuable("a", 1).is_err());
        assert!(most_valuable("1\n1\n/a\nFT 7 1\n", 1).is_err());
    }
}
