//! How much work a schema can make of a value, known before any value comes.
//!
//! Validation has no time budget of its own, and it recurses. Subschemas that look at the same
//! value add up, so a reference that is doubled at each step grows exponentially: with the length
//! of the schema, or, where it is recursive, with the depth of the value.

use serde_json::Value;

use super::graph::{self, Node};

/// Subschemas that may look at one value and, on the way to its deepest part, at what is in it.
pub(super) const MAX_VISITS: usize = 50_000;

/// Subschemas inside each other, references followed: each takes a few hundred bytes of stack.
const MAX_STACK: usize = 1_000;

/// `serde_json` reads values up to this depth.
const DEEPEST_JSON: usize = 128;

/// The depth of the deepest value that can be validated within the limits. A scalar and an empty
/// container have depth 0.
pub(super) fn deepest_value(schema: &Value) -> Result<usize, String> {
    let nodes = graph::nodes(schema)?;
    let order = inner_first(&nodes)?;
    let mut before = vec![Work::default(); nodes.len()];
    for depth in 0..DEEPEST_JSON {
        let work = at_depth(&nodes, &order, &before);
        let root = work[0];
        if root.visits > MAX_VISITS || root.stack > MAX_STACK {
            return depth
                .checked_sub(1)
                .filter(|&deepest| deepest > 0)
                .ok_or_else(|| {
                    format!(
                        "with its references written out it has more than {MAX_VISITS} nodes, or \
                     {MAX_STACK} inside each other: simplify it"
                    )
                });
        }
        if work == before {
            break;
        }
        before = work;
    }
    Ok(DEEPEST_JSON)
}

/// The depth of a value, as above.
pub(super) fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        _ => None,
    };
    inner.map_or(0, |inner| inner + 1)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    visits: usize,
    stack: usize,
}

/// The work of each node on values one deeper than those that `below` is about.
fn at_depth(nodes: &[Node], order: &[usize], below: &[Work]) -> Vec<Work> {
    let mut work = vec![Work::default(); nodes.len()];
    for &index in order {
        let node = &nodes[index];
        let mut total = Work {
            visits: 1,
            stack: 0,
        };
        let mut add = |part: Work| {
            total.visits = total.visits.saturating_add(part.visits).min(MAX_VISITS + 1);
            total.stack = total.stack.max(part.stack);
        };
        node.in_place.iter().for_each(|&inner| add(work[inner]));
        node.below.iter().for_each(|&inner| add(below[inner]));
        add(Work {
            visits: node
                .apart
                .iter()
                .map(|&inner| below[inner].visits)
                .max()
                .unwrap_or(0),
            stack: node
                .apart
                .iter()
                .map(|&inner| below[inner].stack)
                .max()
                .unwrap_or(0),
        });
        total.stack += 1;
        work[index] = total;
    }
    work
}

/// The nodes in an order in which each comes after those that it applies in place.
fn inner_first(nodes: &[Node]) -> Result<Vec<usize>, String> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.pop() {
            if next == 0 && marks[node] != Mark::New {
                continue;
            }
            marks[node] = Mark::Open;
            match nodes[node].in_place.get(next) {
                Some(&inner) => {
                    if marks[inner] == Mark::Open {
                        return Err(
                            "it refers to itself without looking further into the value".to_owned()
                        );
                    }
                    path.push((node, next + 1));
                    path.push((inner, 0));
                }
                None => {
                    marks[node] = Mark::Done;
                    order.push(node);
                }
            }
        }
    }
    Ok(order)
}
