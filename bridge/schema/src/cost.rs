//! How much work a schema can make of a value, known before the work begins.
//!
//! Validation has no time budget of its own, and it recurses. Subschemas that look at the same
//! value add up, so a reference that is doubled at each step grows exponentially: with the length
//! of the schema, or, where it is recursive, with the depth of the value. The first is refused at
//! registration, the second when such a value comes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::subschemas;
use crate::subschemas::Node;

/// Subschemas that may look at one value, with all references written out.
pub const MAX_VISITS: u64 = 50_000;

/// Looks at the values of one argument object or result. A look takes 5 to 30 ns.
pub const MAX_COST: u64 = 300_000_000;

/// Subschemas inside each other, references followed: each takes a few hundred bytes of stack.
const MAX_STACK: usize = 1_000;

/// `serde_json` reads values up to this depth.
const MAX_VALUE_DEPTH: usize = 128;

/// In larger schemas, and at nodes that know more names, properties of different names count as one.
const MAX_NAMED_NODES: usize = 2_000;
const MAX_NAMES: usize = 64;

/// So much text is one look more.
const BYTES_PER_STEP: usize = 16;

/// What one schema costs, by the depth of the value. A scalar and an empty container have depth 0.
#[derive(Debug)]
pub struct CostModel {
    /// The last one goes for deeper values too, if `is_steady`.
    by_depth: Vec<Cost>,
    is_steady: bool,
}

/// Looks at each part of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// To say whether the value fits.
    pub validate: u64,
    /// To say everything that does not.
    pub explain: u64,
}

impl Cost {
    fn capped_add(self, other: Self) -> Self {
        Self {
            validate: (self.validate + other.validate).min(COST_CAP),
            explain: (self.explain + other.explain).min(COST_CAP),
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            validate: self.validate.max(other.validate),
            explain: self.explain.max(other.explain),
        }
    }

    fn uniform(steps: u64) -> Self {
        Self {
            validate: steps,
            explain: steps,
        }
    }

    fn saturating_mul(self, parts: u64) -> Self {
        Self {
            validate: self.validate.saturating_mul(parts),
            explain: self.explain.saturating_mul(parts),
        }
    }
}

impl CostModel {
    pub fn new(schema: &Value) -> Result<Self, String> {
        let nodes = subschemas::collect_nodes(schema)?;
        let order = topological_order(&nodes)?;
        let mut previous = vec![NodeCost::default(); nodes.len()];
        let mut by_depth = Vec::new();
        for depth in 0..=MAX_VALUE_DEPTH {
            let costs = costs_at_depth(&nodes, &order, &previous);
            let root = &costs[0];
            let is_small = root.visits <= MAX_VISITS
                && root.stack <= MAX_STACK
                && root.cost.validate <= MAX_COST;
            // The properties of an object are one deep: less is no use.
            if depth <= 1 && !is_small {
                return Err(format!(
                    "with its references written out it has more than {MAX_VISITS} nodes, or \
                     {MAX_STACK} inside each other: simplify it"
                ));
            }
            if root.stack > MAX_STACK || root.cost.validate > MAX_COST {
                break;
            }
            by_depth.push(root.cost);
            if costs == previous {
                return Ok(Self {
                    by_depth,
                    is_steady: true,
                });
            }
            previous = costs;
        }
        let is_steady = by_depth.len() > MAX_VALUE_DEPTH;
        Ok(Self {
            by_depth,
            is_steady,
        })
    }

    /// The price for a whole value. `None` is too much.
    pub fn cost(&self, value: &Value) -> Option<Cost> {
        let size = ValueSize::from_value(value);
        let price = match self.by_depth.get(size.depth) {
            None if self.is_steady => self.by_depth.last(),
            found => found,
        };
        price
            .map(|price| price.saturating_mul(size.parts))
            .filter(|price| price.validate <= MAX_COST)
    }
}

/// What there is to look at in a value.
struct ValueSize {
    depth: usize,
    parts: u64,
}

impl ValueSize {
    fn from_value(value: &Value) -> Self {
        let text = |text: &str| (text.len() / BYTES_PER_STEP) as u64;
        let (depth, parts) = match value {
            Value::Object(fields) => fields.iter().fold((0, 0), |(depth, parts), (key, value)| {
                let inner = ValueSize::from_value(value);
                (
                    depth.max(inner.depth + 1),
                    parts + 1 + text(key) + inner.parts,
                )
            }),
            Value::Array(items) => items.iter().fold((0, 0), |(depth, parts), value| {
                let inner = ValueSize::from_value(value);
                (depth.max(inner.depth + 1), parts + inner.parts)
            }),
            Value::String(string) => (0, text(string)),
            _ => (0, 0),
        };
        Self {
            depth,
            parts: parts + 1,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct NodeCost {
    /// Subschemas that look at the value, and on the way to its deepest part.
    visits: u64,
    cost: Cost,
    /// The part of `price` that any value in the value may cost.
    any_property: Cost,
    /// What the value of each property may cost beside that: each value has only one name.
    by_property: BTreeMap<usize, Cost>,
    /// To find out which parts of the value its subschemas have looked at.
    marking: u64,
    stack: usize,
}

/// More than any limit: sums stay this small.
const COST_CAP: u64 = 1 << 40;

/// The work of each node on values one deeper than those that `below` is about.
fn costs_at_depth(nodes: &[Node], order: &[usize], below: &[NodeCost]) -> Vec<NodeCost> {
    let most_names = if nodes.len() <= MAX_NAMED_NODES {
        MAX_NAMES
    } else {
        0
    };
    let mut work = vec![NodeCost::default(); nodes.len()];
    for &index in order {
        work[index] = node_cost(&nodes[index], &work, below, most_names);
    }
    work
}

fn node_cost(node: &Node, here: &[NodeCost], below: &[NodeCost], max_names: usize) -> NodeCost {
    let applicators = || node.in_place_applicators.iter().map(|&inner| &here[inner]);
    let children = || node.children.iter().map(|&inner| &below[inner]);
    let by_property = || node.by_property.iter().map(|&(_, inner)| &below[inner]);
    // Marking asks each inner subschema again, and what it has marked.
    let unevaluated = node.unevaluated.iter().map(|&inner| &below[inner]);
    let marking = applicators()
        .map(|inner| inner.cost.validate + inner.marking)
        .chain(unevaluated.map(|inner| inner.cost.validate))
        .fold(1, |sum: u64, part| (sum + part).min(COST_CAP));
    let repeated = if node.unevaluated.is_empty() {
        0
    } else {
        marking
    };
    let own = node.cost + repeated;
    let mut anywhere = applicators()
        .map(|inner| inner.any_property)
        .chain(children().map(|inner| inner.cost))
        .fold(Cost::uniform(own), Cost::capped_add);

    let mut by_name: BTreeMap<usize, Cost> = BTreeMap::new();
    let named = node
        .by_property
        .iter()
        .map(|&(name, inner)| (name, below[inner].cost));
    let inherited =
        applicators().flat_map(|inner| inner.by_property.iter().map(|(&n, &price)| (n, price)));
    for (name, price) in named.chain(inherited) {
        let sum = by_name.entry(name).or_default();
        *sum = sum.capped_add(price);
    }
    let most_expensive = by_name.values().copied().fold(Cost::default(), Cost::max);
    if by_name.len() > max_names {
        by_name.clear();
        anywhere = anywhere.capped_add(most_expensive);
    }
    if node.is_union {
        anywhere.explain =
            (anywhere.explain + anywhere.validate + most_expensive.validate).min(COST_CAP);
    }
    let price = if by_name.is_empty() {
        anywhere
    } else {
        anywhere.capped_add(most_expensive)
    };
    let visits = applicators().chain(children()).map(|inner| inner.visits);
    let stack = applicators().chain(children()).chain(by_property());
    NodeCost {
        visits: visits.fold(
            1 + by_property().map(|inner| inner.visits).max().unwrap_or(0),
            |sum, part| (sum + part).min(COST_CAP),
        ),
        cost: price,
        any_property: anywhere,
        by_property: by_name,
        marking,
        stack: 1 + stack.map(|inner| inner.stack).max().unwrap_or(0),
    }
}

/// The nodes in an order in which each comes after those that it applies in place.
fn topological_order(nodes: &[Node]) -> Result<Vec<usize>, String> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        InProgress,
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
            marks[node] = Mark::InProgress;
            match nodes[node].in_place_applicators.get(next) {
                Some(&inner) => {
                    if marks[inner] == Mark::InProgress {
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
