//! How much text of an answer a client shows its model.

/// What a client counts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextUnit {
    /// UTF-16 code units, as JavaScript counts characters.
    Utf16,
    /// Bytes within a JSON string.
    EncodedBytes,
}

/// How much of all texts in an answer a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLimit {
    pub(crate) unit: TextUnit,
    pub(crate) without_images: usize,
    pub(crate) with_images: usize,
}

impl TextLimit {
    /// What is taken in any case.
    pub(crate) fn minimum(self) -> usize {
        self.without_images.min(self.with_images)
    }
}

/// What Claude Code shows its model of the texts of an answer, unless the tool says another number
/// under [`RESULT_SIZE_KEY`](bridge_realm::definition::tool::RESULT_SIZE_KEY). More goes into a file.
pub(super) const CLAUDE_CODE_TEXT_CHARS: usize = 50_000;

/// Less would leave no room for the note that something was cut.
pub(super) const MIN_TEXT_CHARS: usize = 8_192;

/// The most that Claude Code takes from there.
const MAX_RESULT_SIZE_CHARS: usize = 500_000;

/// How a client counts the texts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextLimitRule {
    /// Each tool alike, with images or without.
    #[default]
    Uniform,
    /// As Claude Code does: a tool may say a number of its own under `RESULT_SIZE_KEY`, which
    /// counts for answers without images.
    ClaudeCode,
    /// As Codex does: in bytes.
    Codex,
}

impl TextLimitRule {
    /// That of the client with this name in its `clientInfo`.
    pub(crate) fn for_client(client_name: &str) -> Self {
        match client_name {
            "claude-code" => TextLimitRule::ClaudeCode,
            "codex-mcp-client" => TextLimitRule::Codex,
            _ => TextLimitRule::Uniform,
        }
    }

    /// The limit for a tool, given what the client's profile and the tool's `_meta` say. `None`: there
    /// is none.
    pub(crate) fn limit(
        self,
        of_profile: Option<usize>,
        of_tool: Option<usize>,
    ) -> Option<TextLimit> {
        let of_tool = of_tool.filter(|_| self == TextLimitRule::ClaudeCode);
        let without_images = match of_tool {
            Some(of_tool) => of_tool.clamp(MIN_TEXT_CHARS, MAX_RESULT_SIZE_CHARS),
            None => of_profile?,
        };
        let with_images = match self {
            TextLimitRule::Uniform | TextLimitRule::Codex => without_images,
            TextLimitRule::ClaudeCode => without_images.min(CLAUDE_CODE_TEXT_CHARS),
        };
        Some(TextLimit {
            unit: match self {
                TextLimitRule::Codex => TextUnit::EncodedBytes,
                _ => TextUnit::Utf16,
            },
            without_images,
            with_images,
        })
    }

    /// The number that each tool without one of its own must say, so that the client takes what its
    /// profile allows.
    pub(crate) fn published_limit(self, of_profile: Option<usize>) -> Option<usize> {
        let more = of_profile.filter(|chars| *chars > CLAUDE_CODE_TEXT_CHARS)?;
        (self == TextLimitRule::ClaudeCode).then(|| more.min(MAX_RESULT_SIZE_CHARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_own_limit_applies_to_claude_code_without_images() {
        let limit = |without_images, with_images| {
            Some(TextLimit {
                unit: TextUnit::Utf16,
                without_images,
                with_images,
            })
        };
        let code = TextLimitRule::for_client("claude-code");
        assert_eq!(code.limit(Some(50_000), None), limit(50_000, 50_000));
        for (own, counts) in [(70_000, 70_000), (9_000_000, 500_000)] {
            assert_eq!(code.limit(Some(50_000), Some(own)), limit(counts, 50_000));
        }
        assert_eq!(code.limit(Some(50_000), Some(9_000)), limit(9_000, 9_000));
        // The note that something was cut needs its room: what is shorter goes whole.
        assert_eq!(code.limit(Some(50_000), Some(100)), limit(8_192, 8_192));
        let other = TextLimitRule::for_client("claude-code-2");
        assert_eq!(other.limit(Some(8_000), Some(70_000)), limit(8_000, 8_000));
        assert_eq!(other.limit(None, Some(70_000)), None);
    }

    #[test]
    fn a_raised_limit_is_published_to_claude_code() {
        let code = TextLimitRule::ClaudeCode;
        assert_eq!(code.published_limit(Some(50_000)), None);
        assert_eq!(code.published_limit(Some(60_000)), Some(60_000));
        assert_eq!(code.published_limit(Some(600_000)), Some(500_000));
        assert_eq!(code.published_limit(None), None);
        assert_eq!(TextLimitRule::Uniform.published_limit(Some(60_000)), None);
    }
}
