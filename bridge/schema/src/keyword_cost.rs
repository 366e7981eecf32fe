//! The cost of the keywords of one subschema for one value, in steps.

use serde_json::{Map, Value};

use super::patterns;

/// Looking up a name is faster than applying a subschema.
const NAMES_PER_STEP: u64 = 4;

/// This many bytes of text cost one more step.
const BYTES_PER_STEP: u64 = 16;

/// The validator compares arrays of up to 15 items pairwise, and hashes the items of longer ones.
const UNIQUE_ITEMS_COST: u64 = 8;

/// `format` reads the whole text, and some formats read it byte by byte.
const FORMAT_COST: u64 = 4;

/// The validator divides decimal fractions exactly, which is slow.
const MULTIPLE_OF_COST: u64 = 50;

/// The cost of the keywords of one subschema, by the properties of the value that it depends on.
#[derive(Clone, Copy, Debug)]
pub struct KeywordCost {
    /// The steps for each value.
    per_value: u64,
    /// The steps for each member of an object.
    per_member: u64,
    /// The steps for each [`BYTES_PER_STEP`] bytes of a string.
    per_text: u64,
    /// The steps for each [`BYTES_PER_STEP`] bytes of the name of a member.
    per_name: u64,
    /// Whether every part of every item of an array is hashed (`uniqueItems`).
    pub has_unique_items: bool,
}

impl KeywordCost {
    /// The cost of `true` and `false`.
    pub const BOOLEAN: Self = Self {
        per_value: 1,
        per_member: 0,
        per_text: 0,
        per_name: 0,
        has_unique_items: false,
    };

    /// The cost of the keywords of a subschema, without the subschemas that it applies; `None` if
    /// a pattern is too long to be parsed.
    pub fn new(fields: &Map<String, Value>) -> Option<Self> {
        let mut cost = Self::BOOLEAN;
        for (keyword, value) in fields {
            cost.add(keyword, value)?;
        }
        Some(cost)
    }

    fn add(&mut self, keyword: &str, value: &Value) -> Option<()> {
        match (keyword, value) {
            ("enum", Value::Array(choices)) if choices.iter().all(is_hashed) => self.per_value += 1,
            ("enum" | "const", _) => self.per_value += count_values(value),
            ("required", Value::Array(names)) => self.per_value += lookups(names.len()),
            ("properties", Value::Object(named)) => {
                self.per_value += lookups(named.len());
                self.per_member = 1;
            }
            ("dependentSchemas", Value::Object(named)) => self.per_value += lookups(named.len()),
            ("additionalProperties" | "propertyNames" | "unevaluatedProperties", _) => {
                self.per_member = 1;
            }
            ("dependentRequired", Value::Object(named)) => {
                let required = named.values().filter_map(Value::as_array).map(Vec::len);
                self.per_value += lookups(named.len() + required.sum::<usize>());
            }
            ("minLength" | "maxLength", _) => self.per_text += 1,
            ("pattern", Value::String(pattern)) => {
                self.per_text += patterns::state_count(pattern)?;
            }
            ("patternProperties", Value::Object(named)) => {
                self.per_member = 1;
                for pattern in named.keys() {
                    self.per_name += patterns::state_count(pattern)?;
                }
            }
            ("uniqueItems", Value::Bool(true)) => self.has_unique_items = true,
            ("format", _) => self.per_text += FORMAT_COST,
            ("multipleOf", Value::Number(divisor)) if divisor.is_f64() => {
                self.per_value += MULTIPLE_OF_COST;
            }
            _ => {}
        }
        Some(())
    }

    /// The number of values and of states of patterns in the keywords.
    pub fn size(&self) -> u64 {
        self.per_value + self.per_text + self.per_name
    }

    /// The steps for each value, without those for text and members.
    pub fn per_value(&self) -> u64 {
        self.per_value
    }

    /// The steps for the name of a member, to which patterns apply.
    pub fn for_name(&self, name: &str) -> u64 {
        self.per_name * chunks(name)
    }

    /// The steps for one value, without those for hashing its items.
    pub fn for_value(&self, value: &Value) -> u64 {
        match value {
            Value::String(text) => self.for_text(text),
            Value::Object(members) => {
                let members_cost = self.per_member * members.len() as u64;
                let names_cost = match self.per_name {
                    0 => 0,
                    per_name => per_name * members.keys().map(|name| chunks(name)).sum::<u64>(),
                };
                self.per_value + members_cost + names_cost
            }
            _ => self.per_value,
        }
    }

    /// The steps for a string, or for the name of a member that `propertyNames` applies to.
    pub fn for_text(&self, text: &str) -> u64 {
        self.per_value + self.per_text * chunks(text)
    }

    /// The steps for hashing a value with all its parts.
    pub fn for_hashing(value: &Value) -> u64 {
        UNIQUE_ITEMS_COST
            * match value {
                Value::String(text) => chunks(text),
                Value::Object(members) => 1 + members.keys().map(|name| chunks(name)).sum::<u64>(),
                _ => 1,
            }
    }
}

fn chunks(text: &str) -> u64 {
    1 + text.len() as u64 / BYTES_PER_STEP
}

fn lookups(names: usize) -> u64 {
    names as u64 / NAMES_PER_STEP
}

/// Whether the validator finds values of this type in an enumeration by lookup. It compares other
/// values one by one.
fn is_hashed(choice: &Value) -> bool {
    choice.is_string() || choice.is_null()
}

fn count_values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(count_values).sum::<u64>(),
        _ => 1,
    }
}
