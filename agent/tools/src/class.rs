//! What a call of a tool may do.

use std::fmt;

use crate::approval::AskFor;

/// What a call of a tool may do. The hints are those of MCP, whose defaults are the most careful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolClass {
    /// What the call may change.
    pub effect: ToolEffect,
    /// Whether the tool says that it reaches beyond the app (`openWorldHint`).
    pub is_open_world: bool,
}

/// What a call of a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolEffect {
    /// Nothing (`readOnlyHint`).
    Read,
    /// It adds something (`destructiveHint` is false).
    Write,
    /// It may destroy something, or the tool says nothing about it.
    Destructive,
}

impl ToolClass {
    /// The class of a tool that says nothing about itself.
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
