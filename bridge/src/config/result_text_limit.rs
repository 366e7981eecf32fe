//! How much text of a result a client shows its model.

use super::client_name::client_behind_proxies;

/// The unit in which a client measures text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextUnit {
    /// UTF-16 code units, as JavaScript counts characters.
    Utf16,
    /// Bytes of the encoded JSON string.
    EncodedBytes,
}

/// The limit for the length of all texts in a result together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLimit {
    pub(crate) unit: TextUnit,
    pub(crate) without_images: usize,
    pub(crate) with_images: usize,
}

impl TextLimit {
    /// The length that is within the limit with or without images.
    pub(crate) fn minimum(self) -> usize {
        self.without_images.min(self.with_images)
    }
}

/// How much text of a result Claude Code shows its model, unless the tool sets another number under
/// [`RESULT_SIZE_KEY`](bridge_realm::definition::tool::RESULT_SIZE_KEY). It writes longer text to a file.
pub(super) const CLAUDE_CODE_TEXT_CHARS: usize = 50_000;

/// A lower limit would leave no room for the note about the truncation.
pub(super) const MIN_TEXT_CHARS: usize = 8_192;

/// The maximum that Claude Code accepts from a tool.
const MAX_RESULT_SIZE_CHARS: usize = 500_000;

/// How a client limits the text of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextLimitRule {
    /// The limit is the same for each tool, with or without images.
    #[default]
    Uniform,
    /// As Claude Code: a tool may set its own limit under `RESULT_SIZE_KEY`, which applies to results without
    /// images.
    ClaudeCode,
    /// As Codex: the limit is in bytes.
    Codex,
}

impl TextLimitRule {
    /// The rule of the client with this name in its `clientInfo`.
    pub(crate) fn for_client(client_name: &str) -> Self {
        match client_behind_proxies(client_name) {
            "claude-code" => TextLimitRule::ClaudeCode,
            "codex-mcp-client" => TextLimitRule::Codex,
            _ => TextLimitRule::Uniform,
        }
    }

    /// The limit for a tool, from the client's profile and the tool's `_meta`. `None` without a limit.
    pub(crate) fn limit(
        self,
        profile_chars: Option<usize>,
        tool_chars: Option<usize>,
    ) -> Option<TextLimit> {
        let tool_chars = tool_chars.filter(|_| self == TextLimitRule::ClaudeCode);
        let without_images = match tool_chars {
            Some(tool_chars) => tool_chars.clamp(MIN_TEXT_CHARS, MAX_RESULT_SIZE_CHARS),
            None => profile_chars?,
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

    /// The number that the bridge publishes in each tool without its own, so that the client accepts what its
    /// profile allows.
    pub(crate) fn published_limit(self, profile_chars: Option<usize>) -> Option<usize> {
        let more = profile_chars.filter(|chars| *chars > CLAUDE_CODE_TEXT_CHARS)?;
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
        let code = TextLimitRule::for_client("claude-code (via mcp-remote 0.15.1)");
        assert_eq!(code.limit(Some(50_000), None), limit(50_000, 50_000));
        for (own, counts) in [(70_000, 70_000), (9_000_000, 500_000)] {
            assert_eq!(code.limit(Some(50_000), Some(own)), limit(counts, 50_000));
        }
        assert_eq!(code.limit(Some(50_000), Some(9_000)), limit(9_000, 9_000));
        // The note about the truncation needs room: shorter text is not truncated.
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
