//! What a client can take: some cut long answers, some end the session over them, some give up on
//! a call after a minute.

use std::time::Duration;

use super::text_limit::CLAUDE_CODE_TEXT_CHARS;

/// What the AI client behind a call can take. `None`: what the bridge's own limits say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The largest answer to a tool call, in bytes as it is sent.
    pub max_result_bytes: Option<usize>,
    /// The characters of all texts in an answer, counted as UTF-16 code units; for Codex, which counts
    /// so, their bytes within JSON.
    pub max_text_chars: Option<usize>,
    /// The longer edge of an image in an answer, in pixels.
    pub max_image_edge: Option<u32>,
    /// How long the client waits for an answer. A call that takes longer gets a handle before.
    pub patience: Option<Duration>,
}

/// The clients that a profile is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// The name in the client's `clientInfo`; with `*` at the end, each name that begins so.
    pub name: String,
    /// What they can take.
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

/// The profiles of clients that the bridge knows by itself; `docs/clients.md` says how each was found.
///
/// - Claude Desktop gives up after a minute: a handle comes ten seconds before, so that it arrives. An
///   edge of 1,568 pixels is what Anthropic's models looked at when it was tried.
/// - Claude Code 2.1.330 puts a text of more than 50,000 characters into a file, and shows the model
///   its first 2,000. It takes images of any size, and scales those down whose edge is longer than
///   1,932 pixels. It waits for 300 s without a word, and hears every ten seconds that a call goes on.
/// - Codex 0.169 shows its model 10,000 tokens, as it counts them 48,000 bytes, of all texts together:
///   their beginning and their end.
/// - Gemini CLI 0.61 puts a single text of 39,960 characters and more into a file; a result of several
///   blocks, as one that was cut is, goes to the model whole.
const BUILT_IN_PROFILES: [(&str, Profile); 4] = [
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

/// What each client can take: the operator's profiles, then those that the bridge knows by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles {
    configured: Vec<ClientProfile>,
}

impl Profiles {
    /// With profiles that win over the built-in ones. Of several that fit a client, the first
    /// counts, and it counts alone.
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

    /// Those of the operator.
    pub(super) fn configured(&self) -> &[ClientProfile] {
        &self.configured
    }

    /// Those that the bridge knows by itself.
    pub(super) fn built_in() -> impl Iterator<Item = ClientProfile> {
        BUILT_IN_PROFILES
            .iter()
            .map(|(name, profile)| ClientProfile {
                name: (*name).to_owned(),
                profile: *profile,
            })
    }

    /// What the client with this name in its `clientInfo` can take.
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
