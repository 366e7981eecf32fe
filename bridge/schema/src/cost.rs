//! An upper bound for the work of a validation, which is known before the validation begins.
//!
//! The unit is a *step*: one subschema that is applied to one value. The validator has no time
//! limit, and it recurses. Therefore the steps are counted first: the counter applies each
//! subschema to each value as the validator does, but only counts, and it stops at a limit. The
//! validator takes fewer steps, because it does not continue where the outcome is clear.
//!
//! Subschemas that apply to the same value add up, so a schema in which each level refers twice to
//! the next one takes exponentially many steps, for every value. It is refused at registration, in
//! time that is linear in the length of the schema. If such a schema is recursive, the steps depend
//! on the depth of the value, and the value is refused.

use serde_json::Value;

use super::keyword_cost::KeywordCost;
use crate::subschemas::{Applicators, SchemaGraph, Subschema};

/// The maximum number of subschemas that apply to one value, with all references expanded.
pub const MAX_VISITS: u64 = 50_000;

/// The maximum cost of one argument object or result, in steps. A step takes 5 to 30 ns.
pub const MAX_COST: u64 = 20_000_000;

/// The maximum nesting of subschemas, with references followed. Each level needs a few hundred
/// bytes of stack.
const MAX_STACK: usize = 1_000;

/// The maximum size of what is copied to collect the violations of a value. The validator keeps a
/// copy of the value for each subschema within a union that refuses it.
const MAX_COPIED_BYTES: usize = 32 * 1024 * 1024;

/// The size of a value without what it contains, rounded up.
const VALUE_BYTES: usize = 64;

/// The subschemas of a schema, and what applying them costs.
#[derive(Debug)]
pub struct CostModel {
    graph: SchemaGraph,
}

/// The steps for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The steps to decide whether the value is valid.
    pub validate: u64,
    /// The steps to collect all violations.
    pub explain: u64,
}

impl Cost {
    fn uniform(steps: u64) -> Self {
        Self {
            validate: steps,
            explain: steps,
        }
    }

    fn add(&mut self, other: Self) {
        self.validate += other.validate;
        self.explain = self.explain.saturating_add(other.explain);
    }
}

impl CostModel {
    /// Analyses a schema. The error describes why the schema is refused.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let graph = SchemaGraph::new(schema)?;
        check_expansion(&graph.nodes)?;
        Ok(Self { graph })
    }

    /// The steps that the analysis took, which are at most about the length of the schema.
    pub fn analysis_steps(&self) -> u64 {
        self.graph.build_steps
    }

    /// The number of subschemas that the validator compiles.
    pub fn compiled_subschemas(&self) -> usize {
        self.graph.compiled_subschemas
    }

    /// The cost of a whole value; `None` if it exceeds `max_steps` or the value is nested too
    /// deeply for this schema. Counting stops at `max_steps`.
    pub fn cost(&self, value: &Value, max_steps: u64) -> Option<Cost> {
        let mut counter = Counter {
            nodes: &self.graph.nodes,
            remaining: max_steps,
            copied_bytes: None,
        };
        counter.count(0, Instance::Value(value), SchemaPosition::ROOT)
    }

    /// Whether at most [`MAX_COPIED_BYTES`] are copied to collect all violations of a value.
    pub fn copies_little(&self, value: &Value) -> bool {
        let mut counter = Counter {
            nodes: &self.graph.nodes,
            remaining: MAX_COST,
            copied_bytes: Some(0),
        };
        let counted = counter.count(0, Instance::Value(value), SchemaPosition::ROOT);
        counted.is_some() && counter.copied_bytes <= Some(MAX_COPIED_BYTES)
    }
}

/// The part of a value that a subschema is applied to.
#[derive(Clone, Copy)]
enum Instance<'a> {
    Value(&'a Value),
    /// The name of a member, to which `propertyNames` applies.
    Name(&'a str),
}

/// Where a subschema is applied.
#[derive(Clone, Copy)]
struct SchemaPosition {
    /// The number of subschemas around it.
    nesting: usize,
    is_in_union: bool,
}

impl SchemaPosition {
    const ROOT: Self = Self {
        nesting: 0,
        is_in_union: false,
    };

    /// The position of the subschemas of one that is applied here.
    fn within(self, applicators: &Applicators) -> Self {
        Self {
            nesting: self.nesting + 1,
            is_in_union: self.is_in_union || applicators.is_union,
        }
    }
}

/// Counts the steps of one validation.
struct Counter<'a> {
    nodes: &'a [Subschema],
    remaining: u64,
    /// The size of the copies for violations, if it is counted.
    copied_bytes: Option<usize>,
}

impl Counter<'_> {
    /// The cost of applying a subschema.
    fn count(
        &mut self,
        index: u32,
        instance: Instance<'_>,
        position: SchemaPosition,
    ) -> Option<Cost> {
        if position.nesting >= MAX_STACK {
            return None;
        }
        let node = &self.nodes[index as usize];
        let own = match instance {
            Instance::Value(value) => node.keyword_cost.for_value(value),
            Instance::Name(name) => node.keyword_cost.for_text(name),
        };
        let mut cost = Cost::uniform(self.spend(own)?);
        if position.is_in_union
            && let Some(bytes) = &mut self.copied_bytes
            && let Instance::Value(value) = instance
        {
            count_copy(bytes, value);
        }
        if node.keyword_cost.has_unique_items
            && let Instance::Value(Value::Array(items)) = instance
        {
            for item in items {
                cost.add(Cost::uniform(self.count_hashing(item)?));
            }
        }
        let Some(applicators) = &node.applicators else {
            return Some(cost);
        };
        let within = position.within(applicators);
        for &inner in &applicators.in_place {
            cost.add(self.count(inner, instance, within)?);
        }
        if let Instance::Value(value) = instance {
            cost.add(self.count_children(applicators, value, within)?);
        }
        if applicators.is_unevaluated {
            cost.add(Cost::uniform(
                self.count_marking(index, instance, position)?,
            ));
        }
        if applicators.is_union {
            cost.explain = cost.explain.saturating_add(cost.validate);
        }
        Some(cost)
    }

    /// The cost of the subschemas that apply to the items or members of a value.
    fn count_children(
        &mut self,
        applicators: &Applicators,
        value: &Value,
        position: SchemaPosition,
    ) -> Option<Cost> {
        let mut cost = Cost::default();
        let mut apply = |inner: u32, instance| {
            cost.add(self.count(inner, instance, position)?);
            Some(())
        };
        match value {
            Value::Array(items) => {
                for (item, &inner) in items.iter().zip(&applicators.prefix_items) {
                    apply(inner, Instance::Value(item))?;
                }
                for &inner in &applicators.items {
                    for item in items {
                        apply(inner, Instance::Value(item))?;
                    }
                }
            }
            Value::Object(members) if applicators.applies_to_members() => {
                for (name, member) in members {
                    let member = Instance::Value(member);
                    match (applicators.property(name), applicators.additional) {
                        (Some(inner), _) | (None, Some(inner)) => apply(inner, member)?,
                        (None, None) => {}
                    }
                    for &inner in &applicators.members {
                        apply(inner, member)?;
                    }
                    if let Some(inner) = applicators.names {
                        apply(inner, Instance::Name(name))?;
                    }
                }
            }
            _ => {}
        }
        Some(cost)
    }

    /// The steps to find out which items or members the subschemas have evaluated, for which each
    /// of them is applied again.
    fn count_marking(
        &mut self,
        index: u32,
        instance: Instance<'_>,
        position: SchemaPosition,
    ) -> Option<u64> {
        let mut steps = self.spend(1)?;
        let Some(applicators) = &self.nodes[index as usize].applicators else {
            return Some(steps);
        };
        let position = SchemaPosition {
            nesting: position.nesting + 1,
            ..position
        };
        for &inner in &applicators.in_place {
            steps += self.count(inner, instance, position)?.validate;
            steps += self.count_marking(inner, instance, position)?;
        }
        if applicators.is_unevaluated
            && let Instance::Value(value) = instance
        {
            steps += self.count_children(applicators, value, position)?.validate;
        }
        Some(steps)
    }

    /// The steps for hashing a value.
    fn count_hashing(&mut self, value: &Value) -> Option<u64> {
        let mut steps = self.spend(KeywordCost::for_hashing(value))?;
        match value {
            Value::Array(items) => {
                for item in items {
                    steps += self.count_hashing(item)?;
                }
            }
            Value::Object(members) => {
                for member in members.values() {
                    steps += self.count_hashing(member)?;
                }
            }
            _ => {}
        }
        Some(steps)
    }

    /// Subtracts the steps from those that remain, and returns them; `None` if too few remain.
    fn spend(&mut self, steps: u64) -> Option<u64> {
        self.remaining = self.remaining.checked_sub(steps)?;
        Some(steps)
    }
}

/// Adds the size of a copy of a value. Counting stops beyond [`MAX_COPIED_BYTES`], which bounds the
/// time, because each value in it counts.
fn count_copy(bytes: &mut usize, value: &Value) {
    if *bytes > MAX_COPIED_BYTES {
        return;
    }
    *bytes += VALUE_BYTES;
    match value {
        Value::String(text) => *bytes += text.len(),
        Value::Array(items) => items.iter().for_each(|item| count_copy(bytes, item)),
        Value::Object(members) => {
            for (name, member) in members {
                *bytes += name.len();
                count_copy(bytes, member);
            }
        }
        _ => {}
    }
}

/// Refuses a schema of which too many subschemas apply to one value, or are nested too deeply.
fn check_expansion(nodes: &[Subschema]) -> Result<(), String> {
    /// The number of subschemas that one subschema applies to one value, itself included.
    #[derive(Clone, Copy, Default)]
    struct Expansion {
        visits: u64,
        /// The steps for these visits.
        steps: u64,
        /// The steps to find the evaluated items and members.
        marking: u64,
        stack: usize,
    }
    let mut expansions = vec![Expansion::default(); nodes.len()];
    for index in topological_order(nodes)? {
        let mut own = Expansion {
            visits: 1,
            steps: 1,
            marking: 1,
            stack: 1,
        };
        for &inner in in_place(&nodes[index]) {
            let inner = expansions[inner as usize];
            own.visits += inner.visits;
            own.steps += inner.steps;
            own.marking += inner.steps + inner.marking;
            own.stack = own.stack.max(inner.stack + 1);
        }
        let applicators = nodes[index].applicators.as_ref();
        if applicators.is_some_and(|applicators| applicators.is_unevaluated) {
            own.steps += own.marking;
        }
        if own.visits > MAX_VISITS || own.steps > MAX_COST || own.stack > MAX_STACK {
            return Err(format!(
                "with its references written out it has more than {MAX_VISITS} nodes, or \
                 {MAX_STACK} inside each other: simplify it"
            ));
        }
        expansions[index] = own;
    }
    Ok(())
}

fn in_place(node: &Subschema) -> &[u32] {
    let applicators = node.applicators.as_ref();
    applicators.map_or(&[], |applicators| &applicators.in_place)
}

/// Sorts the nodes so that each comes after those that it applies in position.
fn topological_order(nodes: &[Subschema]) -> Result<Vec<usize>, String> {
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
            match in_place(&nodes[node]).get(next) {
                Some(&inner) => {
                    let inner = inner as usize;
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

#[cfg(test)]
mod tests;
