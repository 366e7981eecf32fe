//! Which calls a person must approve, and the answer of the person.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The answer of a person, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The person has approved the call.
    Granted,
    /// The person has refused the call.
    Denied,
    /// The person has not answered in time.
    Expired,
}

/// A kind of tools whose calls a person must approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskFor {
    /// Tools that change something.
    Write,
    /// Tools that may destroy something, or have no hint about it.
    Destructive,
    /// Tools that reach beyond the app.
    OpenWorld,
}
