//! The limits of AI clients: some truncate long results, some end the session when a result is too
//! long, and some abort a call after a minute.

use std::time::Duration;

use super::result_text_limit::CLAUDE_CODE_TEXT_CHARS;

/// The limits of the AI client that makes a call. A field is `None` where only the limits of the
/// bridge apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The maximum size of a tool result on the wire, in bytes.
    pub max_result_bytes: Option<usize>,
    /// The maximum length of all texts in a result, in UTF-16 code units. For Codex, which counts
    /// bytes, it is the length of the encoded JSON strings in bytes.
    pub max_text_chars: Option<usize>,
    /// The maximum length of the longer edge of an image in a result, in pixels.
    pub max_image_edge: Option<u32>,
    /// How long the client waits for a result. The bridge answers a longer call with a handle
    /// before that.
    pub patience: Option<Duration>,
}

/// The profile of clients with certain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// The name in the client's `clientInfo`. A `*` at the end matches all names with this prefix.
    pub name: String,
    /// The limits of these clients.
    pub profile: Profile,
}

impl ClientProfile {
    fn matches(&self, client_name: &str) -> bool {
        matches_pattern(&self.name, client_name)
    }
}

fn matches_pattern(pattern: &str, client_name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => client_name.starts_with(beginning),
        None => client_name == pattern,
    }
}

/// The built-in profiles of clients. `docs/clients.md` describes how each was determined.
///
/// - Claude Desktop aborts a call after a minute. The handle is sent ten seconds before that, so
///   that it arrives in time. 1,568 pixels is the largest edge that Anthropic's models used when
///   this was tested.
/// - Claude Code 2.1.330 writes a text of more than 50,000 characters to a file and shows the model
///   its first 2,000. It accepts images of any size and scales down those with an edge of more than
///   1,932 pixels. It waits up to 300 s between two messages, and the bridge reports progress every
///   ten seconds.
/// - Codex 0.169 shows its model 10,000 tokens of all texts together, which it counts as 48,000
///   bytes: their beginning and their end.
/// - Gemini CLI 0.61 writes a single text of 39,960 characters or more to a file. It shows the
///   model a result of several blocks, such as a truncated one, in full.
/// - The agent of this project passes pictures on to a model. Providers scale them down to about 1,568
///   pixels, and count what they get.
const BUILT_IN_PROFILES: [(&str, Profile); 5] = [
    (
        "mcp-web-agent",
        Profile {
            max_result_bytes: None,
            max_text_chars: None,
            max_image_edge: Some(1_568),
            patience: None,
        },
    ),
    (
        "claude-ai",
        Profile {
            max_result_bytes: Some(1_000_000),
            max_text_chars: None,
            max_image_edge: Some(1_568),
            patience: Some(Duration::from_secs(50)),
        },
    ),
    (
        "claude-code",
        Profile {
            max_result_bytes: None,
            max_text_chars: Some(CLAUDE_CODE_TEXT_CHARS),
            max_image_edge: Some(1_932),
            patience: None,
        },
    ),
    (
        "codex-mcp-client",
        Profile {
            max_result_bytes: None,
            max_text_chars: Some(47_000),
            max_image_edge: None,
            patience: None,
        },
    ),
    (
        "gemini-cli-mcp-client",
        Profile {
            max_result_bytes: None,
            max_text_chars: Some(39_900),
            max_image_edge: None,
            patience: None,
        },
    ),
];

/// The limits of each client: the profiles of the operator, then the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles {
    configured: Vec<ClientProfile>,
}

impl Profiles {
    /// Creates profiles that take precedence over the built-in ones. If several of them match a
    /// client, only the first one applies.
    ///
    /// # Examples
    ///
    /// ```
    /// use bridge::{ClientProfile, Profile, Profiles};
    ///
    /// let small = Profile { max_result_bytes: Some(50_000), ..Profile::default() };
    /// let name = "my-client/*".to_owned();
    /// let profiles = Profiles::new(vec![ClientProfile { name, profile: small }]);
    /// assert_eq!(profiles.for_client("my-client/2.1"), small);
    /// assert_eq!(profiles.for_client("another"), Profile::default());
    /// ```
    pub fn new(configured: Vec<ClientProfile>) -> Self {
        Self { configured }
    }

    /// The profiles of the operator.
    pub(super) fn configured(&self) -> &[ClientProfile] {
        &self.configured
    }

    /// The built-in profiles.
    pub(super) fn built_in() -> impl Iterator<Item = ClientProfile> {
        BUILT_IN_PROFILES
            .iter()
            .map(|(name, profile)| ClientProfile {
                name: (*name).to_owned(),
                profile: *profile,
            })
    }

    /// The limits of the client with this name in its `clientInfo`.
    pub fn for_client(&self, client_name: &str) -> Profile {
        let mut configured = self.configured.iter();
        if let Some(found) = configured.find(|entry| entry.matches(client_name)) {
            return found.profile;
        }
        let mut built_in = BUILT_IN_PROFILES.iter();
        built_in
            .find(|(pattern, _)| matches_pattern(pattern, client_name))
            .map_or_else(Profile::default, |(_, profile)| *profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile_named(name: &str, max_result_bytes: usize) -> ClientProfile {
        ClientProfile {
            name: name.to_owned(),
            profile: Profile {
                max_result_bytes: Some(max_result_bytes),
                ..Profile::default()
            },
        }
    }

    #[test]
    fn only_known_clients_have_built_in_profiles() {
        let profiles = Profiles::default();
        let desktop = profiles.for_client("claude-ai");
        assert_eq!(desktop.max_result_bytes, Some(1_000_000));
        assert_eq!(desktop.max_image_edge, Some(1_568));
        assert_eq!(desktop.patience, Some(Duration::from_secs(50)));
        let code = profiles.for_client("claude-code");
        assert_eq!(code.max_result_bytes, None);
        assert_eq!(code.max_text_chars, Some(50_000));
        assert_eq!(code.max_image_edge, Some(1_932));
        assert_eq!(code.patience, None);
        for unknown in ["", "claude", "claude-ai-2", "Claude-AI", "*"] {
            assert_eq!(
                profiles.for_client(unknown),
                Profile::default(),
                "{unknown}"
            );
        }
    }

    #[test]
    fn configured_profiles_win_and_the_first_match_counts() {
        let configured = vec![
            profile_named("editor", 1),
            profile_named("ed*", 2),
            profile_named("editor*", 3),
            profile_named("claude-ai", 4),
        ];
        let profiles = Profiles::new(configured);
        let bytes = |name| profiles.for_client(name).max_result_bytes;
        assert_eq!(bytes("editor"), Some(1));
        assert_eq!(bytes("editor/2"), Some(2));
        assert_eq!(bytes("ed"), Some(2));
        assert_eq!(bytes("e"), None);
        assert_eq!(bytes("claude-ai"), Some(4));
        assert_eq!(profiles.for_client("claude-ai").patience, None);
        assert_eq!(bytes("claude-code"), None);
    }

    #[test]
    fn a_lone_star_matches_every_client() {
        let profiles = Profiles::new(vec![profile_named("*", 7)]);
        for name in ["", "claude-ai", "anything"] {
            assert_eq!(
                profiles.for_client(name).max_result_bytes,
                Some(7),
                "{name}"
            );
        }
    }
}
