//! JSON Schema 2020-12 validation: compiled on first use, without remote references and
//! backtracking, and with an upper limit for the work.
//!
//! - `format` is asserted for the formats that the validator knows, so that a model that sends
//!   "tomorrow" as a `date` gets an error. Unknown formats are ignored.
//! - The cost of a value is counted before it is validated ([`cost`](crate::cost)). Values that
//!   cost too much are refused; a thread that serves sockets validates only cheap ones ([`Effort`]).
//! - An error has up to [`MAX_VIOLATIONS`] paths and rules, in bounded text, and does not repeat
//!   the value.

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use crate::compiled;
use crate::cost::{Cost, CostModel, MAX_COST};
use crate::effort::{Effort, EffortLimits};
use crate::external_references;
use crate::patterns;
use crate::text_validator::{TextValidator, TextVerdict};
use crate::validation_failure::{ValidationFailure, Violation, truncate};
use crate::value_count::{self, MAX_VALUES};

/// The maximum number of violations in one error.
pub(crate) const MAX_VIOLATIONS: usize = 5;

/// Up to this cost (in steps) all violations are collected. Each takes some 400 bytes.
const MAX_EXPLAIN_COST: u64 = 100_000;

/// The maximum number of states of the patterns of a schema that is also compiled for texts.
pub(crate) const MAX_TEXT_PATTERN_STATES: u64 = 10_000;

/// With any effort, this many steps may be taken for a text before it is parsed, and
/// [`TEXT_STEPS_PER_BYTE`] for each byte. One pass takes fewer; where a schema needs many passes
/// over the same text, those of the crate are faster.
const MIN_TEXT_STEPS: u64 = 1_000_000;

const TEXT_STEPS_PER_BYTE: u64 = 2;

/// A schema and its compiled form, which is built on first use.
pub struct Validator {
    schema: Value,
    /// The schema without the patterns that cannot run in linear time; `None` if there are none.
    enforced: Option<Value>,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
    /// `None` if texts must be parsed.
    text_validator: OnceLock<Option<Box<TextValidator>>>,
    /// The number of states of its patterns.
    pattern_states: u64,
    pub(crate) cost_model: CostModel,
    accepts_any_object: bool,
}

impl Validator {
    /// Creates a validator.
    ///
    /// # Errors
    ///
    /// The schema would cost too much, or cannot be analysed.
    pub fn new(schema: Value) -> Result<Self, String> {
        let mut enforced = schema.clone();
        let pattern_states = patterns::retain_linear(&mut enforced)?;
        let cost_model = CostModel::new(&enforced)?;
        external_references::refuse(&enforced)?;
        Ok(Self {
            pattern_states,
            cost_model,
            accepts_any_object: accepts_any_object(&schema),
            enforced: (enforced != schema).then_some(enforced),
            schema,
            compiled: OnceLock::new(),
            text_validator: OnceLock::new(),
        })
    }

    /// The schema, with all its patterns.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether every object is valid, so that there is nothing to validate.
    pub fn accepts_any_object(&self) -> bool {
        self.accepts_any_object
    }

    /// Validates a value, whatever it costs up to [`MAX_COST`].
    ///
    /// # Errors
    ///
    /// The violations, or why the value was not validated.
    pub fn validate(&self, value: &Value) -> Result<(), ValidationFailure> {
        let cost = self.cost_model.cost(value, MAX_COST);
        self.validate_at_cost(value, cost.ok_or(ValidationFailure::TooCostly)?)
    }

    /// Validates a value if that takes no more than `effort`, and returns `None` otherwise.
    pub fn try_validate(
        &self,
        value: &Value,
        effort: Effort,
    ) -> Option<Result<(), ValidationFailure>> {
        let Some(limits) = effort.limits() else {
            return Some(self.validate(value));
        };
        if self.compiled.get().is_none() && !self.compiles_within(&limits) {
            return None;
        }
        let cost = self.cost_model.cost(value, limits.steps)?;
        Some(self.validate_at_cost(value, cost))
    }

    /// Validates a JSON text if that takes no more than `effort`, and returns `None` otherwise.
    ///
    /// A text that is valid is not parsed if the schema has common keywords only, however many
    /// values it has. Any other text is parsed unless it has too many values.
    pub fn try_validate_text(
        &self,
        json: &str,
        effort: Effort,
    ) -> Option<Result<(), ValidationFailure>> {
        match self.text_verdict(json, effort) {
            Some(TextVerdict::Valid) => return Some(Ok(())),
            Some(TextVerdict::TooCostly) if effort != Effort::Full => return None,
            // The crate states what is wrong.
            _ => {}
        }
        if effort
            .limits()
            .is_some_and(|limits| json.len() > limits.bytes)
        {
            return None;
        }
        if value_count::exceeds(json, MAX_VALUES) {
            return Some(Err(ValidationFailure::TooManyValues));
        }
        match serde_json::from_str(json) {
            Ok(value) => self.try_validate(&value, effort),
            Err(error) => Some(Err(ValidationFailure::Unreadable(error.to_string()))),
        }
    }

    /// Returns the verdict about a JSON text without parsing it; `None` if there is none for any
    /// text, or if compiling the schema takes more than `effort`.
    pub fn text_verdict(&self, json: &str, effort: Effort) -> Option<TextVerdict> {
        let limits = effort.limits();
        let validator = match self.text_validator.get() {
            Some(validator) => validator,
            None if limits.is_some_and(|limits| !self.compiles_within(&limits)) => return None,
            None => self.text_validator.get_or_init(|| {
                let is_small = self.pattern_states <= MAX_TEXT_PATTERN_STATES;
                let validator = is_small.then(|| TextValidator::new(self.enforced()));
                validator.flatten().map(Box::new)
            }),
        };
        let max_steps = MIN_TEXT_STEPS + TEXT_STEPS_PER_BYTE * json.len() as u64;
        let max_steps = limits.map_or(max_steps.min(MAX_COST), |limits| limits.steps);
        Some(validator.as_ref()?.verdict(json, max_steps))
    }

    /// Whether compiling the schema takes no more than the limits.
    fn compiles_within(&self, limits: &EffortLimits) -> bool {
        self.pattern_states <= limits.pattern_states
            && self.cost_model.compiled_subschemas() <= limits.schema_nodes
            && remaining_nodes(&self.schema, limits.schema_nodes) > 0
    }

    fn validate_at_cost(&self, value: &Value, cost: Cost) -> Result<(), ValidationFailure> {
        let validator = self.compiled().map_err(ValidationFailure::InvalidSchema)?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let mut violations = Vec::new();
        let mut has_more = false;
        let has_unions = cost.explain != cost.validate;
        if cost.explain <= MAX_EXPLAIN_COST && (!has_unions || self.cost_model.copies_little(value))
        {
            let mut errors = validator.iter_errors(value);
            violations.extend(errors.by_ref().take(MAX_VIOLATIONS).map(Violation::from));
            has_more = errors.next().is_some();
        } else if !has_unions {
            // Without unions, the first error does not depend on the other ones.
            violations.extend(validator.validate(value).err().map(Violation::from));
        }
        Err(ValidationFailure::InvalidValue {
            violations,
            has_more,
        })
    }

    fn enforced(&self) -> &Value {
        self.enforced.as_ref().unwrap_or(&self.schema)
    }

    fn compiled(&self) -> Result<&jsonschema::Validator, String> {
        self.compiled
            .get_or_init(|| compiled::compile(self.enforced()).map_err(|error| truncate(&error)))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// Whether a schema has no rules but `type: object` and annotations.
fn accepts_any_object(schema: &Value) -> bool {
    let allows_any = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => value == "object",
        "properties" => value.as_object().is_some_and(serde_json::Map::is_empty),
        "additionalProperties" => *value == true,
        "$schema" | "$comment" | "title" | "description" => true,
        _ => false,
    };
    schema
        .as_object()
        .is_some_and(|rules| rules.iter().all(allows_any))
}

/// The remaining budget after one step for each value in a value.
fn remaining_nodes(value: &Value, budget: usize) -> usize {
    let budget = budget.saturating_sub(1);
    match value {
        Value::Object(fields) => fields.values().fold(budget, |budget, inner| match budget {
            0 => 0,
            budget => remaining_nodes(inner, budget),
        }),
        Value::Array(items) => items.iter().fold(budget, |budget, inner| match budget {
            0 => 0,
            budget => remaining_nodes(inner, budget),
        }),
        _ => budget,
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Validator").field(&self.schema).finish()
    }
}

#[cfg(test)]
mod tests;
