//! How much work a schema can make of a value, known before the work begins.
//!
//! Validation has no time budget of its own, and it recurses. Subschemas that look at the same
//! value add up, so a reference that is doubled at each step grows exponentially: with the length
//! of the schema, or, where it is recursive, with the depth of the value. The first is refused at
//! registration, the second when such a value comes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::graph::{self, Node};

/// Subschemas that may look at one value, with all references written out.
pub(super) const MAX_VISITS: u64 = 50_000;

/// Looks at the values of one argument object or result. A look takes 5 to 30 ns.
pub(super) const MAX_WORK: u64 = 300_000_000;

/// Subschemas inside each other, references followed: each takes a few hundred bytes of stack.
const MAX_STACK: usize = 1_000;

/// `serde_json` reads values up to this depth.
const DEEPEST_JSON: usize = 128;

/// In larger schemas, and at nodes that know more names, properties of different names count as one.
const MAX_NAMED_NODES: usize = 2_000;
const MAX_NAMES: usize = 64;

/// So much text is one look more.
const BYTES_PER_LOOK: usize = 16;

/// What one schema costs, by the depth of the value. A scalar and an empty container have depth 0.
#[derive(Debug)]
pub(super) struct Budget {
    /// The last one goes for deeper values too, if `is_steady`.
    by_depth: Vec<Price>,
    is_steady: bool,
}

/// Looks at each part of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Price {
    /// To say whether the value fits.
    pub(super) verdict: u64,
    /// To say everything that does not.
    pub(super) reasons: u64,
}

impl Price {
    fn plus(self, other: Self) -> Self {
        Self {
            verdict: (self.verdict + other.verdict).min(ENOUGH),
            reasons: (self.reasons + other.reasons).min(ENOUGH),
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            verdict: self.verdict.max(other.verdict),
            reasons: self.reasons.max(other.reasons),
        }
    }

    fn of(looks: u64) -> Self {
        Self {
            verdict: looks,
            reasons: looks,
        }
    }

    fn times(self, parts: u64) -> Self {
        Self {
            verdict: self.verdict.saturating_mul(parts),
            reasons: self.reasons.saturating_mul(parts),
        }
    }
}

impl Budget {
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let nodes = graph::nodes(schema)?;
        let order = inner_first(&nodes)?;
        let mut before = vec![Work::default(); nodes.len()];
        let mut by_depth = Vec::new();
        for depth in 0..=DEEPEST_JSON {
            let work = at_depth(&nodes, &order, &before);
            let root = &work[0];
            let is_small = root.visits <= MAX_VISITS
                && root.stack <= MAX_STACK
                && root.price.verdict <= MAX_WORK;
            // The properties of an object are one deep: less is no use.
            if depth <= 1 && !is_small {
                return Err(format!(
                    "with its references written out it has more than {MAX_VISITS} nodes, or \
                     {MAX_STACK} inside each other: simplify it"
                ));
            }
            if root.stack > MAX_STACK || root.price.verdict > MAX_WORK {
                break;
            }
            by_depth.push(root.price);
            if work == before {
                return Ok(Self {
                    by_depth,
                    is_steady: true,
                });
            }
            before = work;
        }
        let is_steady = by_depth.len() > DEEPEST_JSON;
        Ok(Self {
            by_depth,
            is_steady,
        })
    }

    /// The price for a whole value. `None` is too much.
    pub(super) fn price(&self, value: &Value) -> Option<Price> {
        let size = Size::of(value);
        let price = match self.by_depth.get(size.depth) {
            None if self.is_steady => self.by_depth.last(),
            found => found,
        };
        price
            .map(|price| price.times(size.parts))
            .filter(|price| price.verdict <= MAX_WORK)
    }
}

/// What there is to look at in a value.
struct Size {
    depth: usize,
    parts: u64,
}

impl Size {
    fn of(value: &Value) -> Self {
        let text = |text: &str| (text.len() / BYTES_PER_LOOK) as u64;
        let (depth, parts) = match value {
            Value::Object(fields) => fields.iter().fold((0, 0), |(depth, parts), (key, value)| {
                let inner = Size::of(value);
                (
                    depth.max(inner.depth + 1),
                    parts + 1 + text(key) + inner.parts,
                )
            }),
            Value::Array(items) => items.iter().fold((0, 0), |(depth, parts), value| {
                let inner = Size::of(value);
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
struct Work {
    /// Subschemas that look at the value, and on the way to its deepest part.
    visits: u64,
    price: Price,
    /// The part of `price` that any value in the value may cost.
    anywhere: Price,
    /// What the value of each property may cost beside that: each value has only one name.
    by_name: BTreeMap<usize, Price>,
    /// To find out which parts of the value its subschemas have looked at.
    marking: u64,
    stack: usize,
}

/// More than any limit: sums stay this small.
const ENOUGH: u64 = 1 << 40;

/// The work of each node on values one deeper than those that `below` is about.
fn at_depth(nodes: &[Node], order: &[usize], below: &[Work]) -> Vec<Work> {
    let most_names = if nodes.len() <= MAX_NAMED_NODES {
        MAX_NAMES
    } else {
        0
    };
    let mut work = vec![Work::default(); nodes.len()];
    for &index in order {
        work[index] = of_node(&nodes[index], &work, below, most_names);
    }
    work
}

fn of_node(node: &Node, here: &[Work], below: &[Work], most_names: usize) -> Work {
    let in_place = || node.in_place.iter().map(|&inner| &here[inner]);
    let deeper = || node.below.iter().map(|&inner| &below[inner]);
    let apart = || node.apart.iter().map(|&(_, inner)| &below[inner]);
    // Marking asks each inner subschema again, and what it has marked.
    let left_over = node.left_over.iter().map(|&inner| &below[inner]);
    let marking = in_place()
        .map(|inner| inner.price.verdict + inner.marking)
        .chain(left_over.map(|inner| inner.price.verdict))
        .fold(1, |sum: u64, part| (sum + part).min(ENOUGH));
    let asked_again = if node.left_over.is_empty() {
        0
    } else {
        marking
    };
    let own = node.price + asked_again;
    let mut anywhere = in_place()
        .map(|inner| inner.anywhere)
        .chain(deeper().map(|inner| inner.price))
        .fold(Price::of(own), Price::plus);

    let mut by_name: BTreeMap<usize, Price> = BTreeMap::new();
    let named = node
        .apart
        .iter()
        .map(|&(name, inner)| (name, below[inner].price));
    let inherited =
        in_place().flat_map(|inner| inner.by_name.iter().map(|(&n, &price)| (n, price)));
    for (name, price) in named.chain(inherited) {
        let sum = by_name.entry(name).or_default();
        *sum = sum.plus(price);
    }
    let dearest = by_name.values().copied().fold(Price::default(), Price::max);
    if by_name.len() > most_names {
        by_name.clear();
        anywhere = anywhere.plus(dearest);
    }
    if node.is_union {
        anywhere.reasons = (anywhere.reasons + anywhere.verdict + dearest.verdict).min(ENOUGH);
    }
    let price = if by_name.is_empty() {
        anywhere
    } else {
        anywhere.plus(dearest)
    };
    let visits = in_place().chain(deeper()).map(|inner| inner.visits);
    let stack = in_place().chain(deeper()).chain(apart());
    Work {
        visits: visits.fold(
            1 + apart().map(|inner| inner.visits).max().unwrap_or(0),
            |sum, part| (sum + part).min(ENOUGH),
        ),
        price,
        anywhere,
        by_name,
        marking,
        stack: 1 + stack.map(|inner| inner.stack).max().unwrap_or(0),
    }
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
