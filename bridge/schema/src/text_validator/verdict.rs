//! The answers of a pass over a text.

/// What the pass over a text has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextVerdict {
    Valid,
    Invalid,
    /// The text must be parsed to decide.
    Undecided,
    /// The pass has stopped, because it would take too many steps.
    TooCostly,
}
