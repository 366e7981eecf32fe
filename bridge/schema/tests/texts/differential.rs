//! Random texts are validated without parsing them, and by the crate.
//!
//! `MCP_WEB_SCHEMA_CASES` is the number of texts and `MCP_WEB_SCHEMA_SEED` the seed:
//! `cargo xtask fuzz --schema-texts N` runs more of them than the tests.

use std::collections::HashSet;
use std::fmt;

use bridge_schema::{Effort, TextVerdict, ValidationFailure, Validator};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::random::Random;
use crate::schemas::any_schema;
use crate::text_writer::write_text;
use crate::values::value_for;

const CASES: u64 = 100_000;
const SEED: u64 = 20;

/// The number of texts for each schema.
const TEXTS: u64 = 50;

/// The verdict of the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Valid,
    Invalid,
    Unreadable,
    TooCostly,
}

#[derive(Debug, Default)]
struct Counts {
    schemas: u64,
    /// The schemas for which all texts are parsed.
    left_to_crate: u64,
    texts: u64,
    valid: u64,
    invalid: u64,
    unreadable: u64,
    /// Texts that are valid, without parsing them.
    found_valid: u64,
    /// Texts that are not valid, found without parsing them.
    found_invalid: u64,
    /// Found to be invalid, but valid because of a member whose name occurs twice.
    found_invalid_by_duplicate: u64,
    /// Readable texts about which nothing was found.
    undecided: u64,
}

#[test]
fn texts_have_the_verdict_of_the_crate() {
    let number = |name: &str, default| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number")),
        Err(_) => default,
    };
    let seed = number("MCP_WEB_SCHEMA_SEED", SEED);
    let cases = number("MCP_WEB_SCHEMA_CASES", CASES);
    let mut counts = Counts::default();
    for index in 0..cases.div_ceil(TEXTS) {
        check_schema(seed, index, &mut counts);
    }
    println!("seed {seed}: {counts:?}");
    // Otherwise the test would not test much.
    let decided = counts.found_valid + counts.found_invalid;
    let readable = decided + counts.undecided;
    assert!(decided * 100 >= readable * 90, "{counts:?}");
    assert!(counts.valid * 100 >= counts.texts * 25, "{counts:?}");
    assert!(counts.invalid * 100 >= counts.texts * 25, "{counts:?}");
}

fn check_schema(seed: u64, index: u64, counts: &mut Counts) {
    let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(index));
    let schema = any_schema(&mut random);
    let Ok(validator) = Validator::new(schema.clone()) else {
        return;
    };
    counts.schemas += 1;
    if validator.text_verdict("{}", Effort::Full).is_none() {
        counts.left_to_crate += 1;
        return;
    }
    for _ in 0..TEXTS {
        let value = value_for(&mut random, &schema, &schema, 0);
        let text = write_text(&mut random, &value);
        let expected = expected(&validator, &text);
        let found = validator.text_verdict(&text, Effort::Full);
        counts.add(expected);
        let context = || format!("seed {seed}, schema {index}: {text} for {schema}");
        check(found.unwrap(), expected, &text, counts, context);
        let outcome = validator.try_validate_text(&text, Effort::Full).unwrap();
        assert_eq!(kind(outcome), expected, "{}", context());
    }
}

fn check(
    found: TextVerdict,
    expected: Expected,
    text: &str,
    counts: &mut Counts,
    context: impl Fn() -> String,
) {
    match (found, expected) {
        (TextVerdict::Valid, Expected::Valid) => counts.found_valid += 1,
        // It may end before what cannot be read.
        (TextVerdict::Invalid, Expected::Unreadable) => {}
        (TextVerdict::Invalid, Expected::Invalid) => counts.found_invalid += 1,
        (TextVerdict::Invalid, Expected::Valid) => {
            assert!(has_duplicates(text), "{}", context());
            counts.found_invalid_by_duplicate += 1;
        }
        (TextVerdict::Undecided, Expected::Unreadable) => {}
        (TextVerdict::Undecided, _) => counts.undecided += 1,
        _ => panic!("{found:?} and {expected:?}: {}", context()),
    }
}

/// The verdict of the crate about a text that is parsed.
fn expected(validator: &Validator, text: &str) -> Expected {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => kind(validator.validate(&value)),
        Err(_) => Expected::Unreadable,
    }
}

fn kind(outcome: Result<(), ValidationFailure>) -> Expected {
    match outcome {
        Ok(()) => Expected::Valid,
        Err(ValidationFailure::InvalidValue { .. }) => Expected::Invalid,
        Err(ValidationFailure::Unreadable(_)) => Expected::Unreadable,
        Err(ValidationFailure::TooCostly) => Expected::TooCostly,
        Err(failure) => panic!("{failure}"),
    }
}

impl Counts {
    fn add(&mut self, expected: Expected) {
        self.texts += 1;
        match expected {
            Expected::Valid => self.valid += 1,
            Expected::Invalid => self.invalid += 1,
            Expected::Unreadable => self.unreadable += 1,
            Expected::TooCostly => {}
        }
    }
}

/// Whether an object in a text has a name twice.
fn has_duplicates(text: &str) -> bool {
    serde_json::from_str::<UniqueNames>(text).is_err()
}

/// A value in which no object has a name twice.
struct UniqueNames;

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueNames {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value whose names are unique")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some((name, Self)) = members.next_entry::<String, Self>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a name occurs twice"));
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while let Some(Self) = items.next_element()? {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}
