//! An upper bound for the work of a validation, which is known before the validation begins.
//!
//! The unit is a *step*: one subschema that is applied to one value. The validator has no time
//! limit, and it recurses. Subschemas that apply to the same value add up, so a schema in which
//! each level refers twice to the next one costs exponentially many steps: in the length of the
//! schema or, if the schema is recursive, in the depth of the value. The former is refused at
//! registration, the latter when such a value arrives.

use std::collections::BTreeMap;

use serde_json::Value;

use super::subschemas;
use crate::subschemas::Node;

/// The maximum number of subschemas that apply to one value, with all references expanded.
pub const MAX_VISITS: u64 = 50_000;

/// The maximum cost of one argument object or result, in steps. A step takes 5 to 30 ns.
pub const MAX_COST: u64 = 300_000_000;

/// The maximum nesting of subschemas, with references followed. Each level needs a few hundred
/// bytes of stack.
const MAX_STACK: usize = 1_000;

/// `serde_json` parses values up to this depth.
const MAX_VALUE_DEPTH: usize = 128;

/// In larger schemas, and at nodes with more names than [`MAX_NAMES`], properties of different
/// names are counted as if they had the same name.
const MAX_NAMED_NODES: usize = 2_000;
const MAX_NAMES: usize = 64;

/// This many bytes of text cost one more step.
const BYTES_PER_STEP: usize = 16;

/// The cost of a schema for each depth of the value. A scalar and an empty container have depth 0.
#[derive(Debug)]
pub struct CostModel {
    /// If `is_steady`, the last entry also applies to deeper values.
    by_depth: Vec<Cost>,
    is_steady: bool,
}

/// The steps for each part of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The steps to decide whether the value is valid.
    pub validate: u64,
    /// The steps to collect all violations.
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
    /// Computes the costs of a schema. The error describes why the schema is refused.
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
            // An object with properties has depth 1, so a schema that does not even allow this
            // depth is useless.
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

    /// The cost of a whole value; `None` if it exceeds [`MAX_COST`].
    pub fn cost(&self, value: &Value) -> Option<Cost> {
        let size = ValueSize::from_value(value);
        let cost = match self.by_depth.get(size.depth) {
            None if self.is_steady => self.by_depth.last(),
            found => found,
        };
        cost.map(|cost| cost.saturating_mul(size.parts))
            .filter(|cost| cost.validate <= MAX_COST)
    }
}

/// The depth of a value and the number of its parts.
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

/// The cost of one node for values of one depth.
#[derive(Clone, Debug, Default, PartialEq)]
struct NodeCost {
    /// The number of subschemas that apply to the value and to the values on the way to its deepest
    /// part.
    visits: u64,
    cost: Cost,
    /// The part of `cost` that applies to every child of the value.
    any_property: Cost,
    /// The additional cost of the values of single properties. Each value has only one name, so
    /// only the most expensive name counts.
    by_property: BTreeMap<usize, Cost>,
    /// The steps to find out which children were evaluated by the subschemas.
    marking: u64,
    stack: usize,
}

/// Sums are capped at this value, which is higher than every limit.
const COST_CAP: u64 = 1 << 40;

/// The cost of each node for values that are one level deeper than those of `below`.
fn costs_at_depth(nodes: &[Node], order: &[usize], below: &[NodeCost]) -> Vec<NodeCost> {
    let max_names = if nodes.len() <= MAX_NAMED_NODES {
        MAX_NAMES
    } else {
        0
    };
    let mut costs = vec![NodeCost::default(); nodes.len()];
    for &index in order {
        costs[index] = node_cost(&nodes[index], &costs, below, max_names);
    }
    costs
}

fn node_cost(node: &Node, here: &[NodeCost], below: &[NodeCost], max_names: usize) -> NodeCost {
    let applicators = || node.in_place_applicators.iter().map(|&inner| &here[inner]);
    let children = || node.children.iter().map(|&inner| &below[inner]);
    let by_property = || node.by_property.iter().map(|&(_, inner)| &below[inner]);
    // To find the evaluated children, each inner subschema is applied again.
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
        applicators().flat_map(|inner| inner.by_property.iter().map(|(&n, &cost)| (n, cost)));
    for (name, cost) in named.chain(inherited) {
        let sum = by_name.entry(name).or_default();
        *sum = sum.capped_add(cost);
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
    let cost = if by_name.is_empty() {
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
        cost,
        any_property: anywhere,
        by_property: by_name,
        marking,
        stack: 1 + stack.map(|inner| inner.stack).max().unwrap_or(0),
    }
}

/// Sorts the nodes so that each comes after those that it applies in place.
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
