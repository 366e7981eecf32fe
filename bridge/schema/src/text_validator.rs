//! Validates JSON text in one pass, without building values.
//!
//! Nearly all schemas of tools use few keywords. A schema of these keywords is compiled into a
//! [`Program`], which runs over the text and has only three verdicts:
//!
//! - [`TextVerdict::Valid`] is the verdict of the `jsonschema` crate, always.
//! - [`TextVerdict::Invalid`] is also its verdict, unless an object has a name twice. The crate
//!   then describes the error, or finds that there is none.
//! - [`TextVerdict::Undecided`]: something in the text is unusual, for example that it is not JSON.
//!
//! Modules: [`compile`] translates the schema and refuses unknown keywords. [`program`] is the
//! result. [`cursor`] reads the tokens of the text, and [`run`] applies the program to them.
//!
//! Keywords of strings and numbers that are more than a comparison (`pattern`, `format`, and all
//! keywords of a number that is not a short integer) are decided by the crate itself, with a schema
//! of these keywords only.
//!
//! # Names that occur twice
//!
//! The parser keeps the last member of a name, and this pass sees all of them. With all keywords but
//! `oneOf` and `minProperties`, an object is valid without some of its members of a name if it is
//! valid with them (`required` needs one of them only). Where these two keywords apply, an object
//! that may have a name twice is not decided.

mod compile;
mod cursor;
mod member_key;
mod program;
mod run;

use serde_json::Value;

use program::Program;
pub use run::TextVerdict;

/// A schema that is compiled for texts.
#[derive(Debug)]
pub(crate) struct TextValidator {
    program: Program,
}

impl TextValidator {
    /// Compiles a schema; `None` if it has a keyword or a value that is left to the crate.
    pub(crate) fn new(schema: &Value) -> Option<Self> {
        let program = compile::compile(schema)?;
        Some(Self { program })
    }

    /// Validates a text in no more than `max_steps`. A step is a subschema that is applied to a
    /// value, or 16 bytes of the text that are read once.
    pub(crate) fn verdict(&self, json: &str, max_steps: u64) -> TextVerdict {
        run::run(&self.program, json, max_steps)
    }
}

#[cfg(test)]
mod tests;
