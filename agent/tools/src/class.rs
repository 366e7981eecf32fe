//! The class of a tool: the effects that its calls may have.

use std::fmt;

use crate::approval::AskFor;

/// The effects that calls of a tool may have. The hints are those of MCP, whose defaults are the
/// most careful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolClass {
    /// The changes that a call may make.
    pub effect: ToolEffect,
    /// Whether calls reach beyond the app (`openWorldHint`).
    pub is_open_world: bool,
}

/// The changes that a call of a tool may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolEffect {
    /// Nothing (`readOnlyHint`).
    Read,
    /// It adds something (`destructiveHint` is false).
    Write,
    /// It may destroy something, or the tool has no hint.
    Destructive,
}

impl ToolClass {
    /// The class of a tool without hints.
    #[cfg(any(test, feature = "testing"))]
    pub const UNKNOWN: Self = Self {
        effect: ToolEffect::Destructive,
        is_open_world: false,
    };

    /// Returns whether a person must approve the calls of a tool of this class.
    pub fn must_be_approved(self, ask: &[AskFor]) -> bool {
        let by_kind = |kind: &AskFor| match kind {
            AskFor::Write => self.effect != ToolEffect::Read,
            AskFor::Destructive => self.effect == ToolEffect::Destructive,
            AskFor::OpenWorld => self.is_open_world,
        };
        ask.iter().any(by_kind)
    }
}

/// The words of profiles.
impl fmt::Display for ToolClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.effect {
            ToolEffect::Read => "read",
            ToolEffect::Write => "write",
            ToolEffect::Destructive => "destructive",
        })?;
        if self.is_open_world {
            f.write_str(", open-world")?;
        }
        Ok(())
    }
}
