//! The choices of an operator about sessions and calls. With the feature `clap` they are values of
//! command-line flags.

/// The policy for a page that exceeds the number of sessions a token may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "clap",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum SessionLimitPolicy {
    /// It is refused.
    Reject,
    /// It is accepted, and the page that connected first is closed.
    CloseOldest,
}

/// The policy for a page whose session name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "clap",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum DuplicateNames {
    /// It gets the name with a number: `board (2)`.
    Number,
    /// It is refused.
    Reject,
}

/// Which page receives a call that several pages could answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "clap",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum AmbiguousCalls {
    /// To no page: the error lists the pages, and the client chooses one.
    Ask,
    /// To the page that has the focus; without one as with `ask`.
    Focused,
    /// To the page that has the focus, else to the one that was active last.
    LastActive,
}
