//! The limits of AI clients: some truncate long results, some end the session when a result is too
//! long, and some abort a call after a minute.

use std::time::Duration;

use super::client_name::client_behind_proxies;
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
    /// The maximum size of all images in one MCP session, in bytes of base64. A client without a
    /// session receives as much with each result.
    pub max_media_bytes: Option<usize>,
    /// How long the client waits for a result. The bridge answers a longer call with a handle
    /// before that.
    pub patience: Option<Duration>,
    /// Whether the client accepts `oneOf`, `anyOf`, `allOf`, `not` and `enum` at the root of an
    /// input schema, which MCP allows since 2026-07-28 and most model services refuse.
    pub root_unions: bool,
}

/// A profile without any limit.
const UNLIMITED: Profile = Profile {
    max_result_bytes: None,
    max_text_chars: None,
    max_image_edge: None,
    max_media_bytes: None,
    patience: None,
    root_unions: false,
};

/// The profile of clients with certain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// The name in the client's `clientInfo`. A `*` at the end matches all names with this prefix.
    pub name: String,
    /// The limits of these clients.
    pub profile: Profile,
}

fn matches_pattern(pattern: &str, client_name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => client_name.starts_with(beginning),
        None => client_name == pattern,
    }
}

/// The built-in profiles of clients. `docs/clients.md` describes how those that can be run were
/// tested.
///
/// - `mcp-web-agent`: the agent of this project passes pictures on to a model. Providers scale them
///   down to about 1,568 pixels, and count what they get.
/// - `claude-ai` is Claude Desktop with a local server, also behind mcp-remote. It aborts a call
///   after a minute, and the handle is sent ten seconds before that. It ends the session at a
///   result of more than a megabyte.
/// - `Anthropic/ClaudeAI` is the connector of claude.ai. The documented limits of both are 300 s
///   and about 150,000 characters (<https://claude.com/docs/connectors/building>, "Technical
///   specifications", November 2026). The minute of a local server is shorter.
/// - Claude Code 2.1.330 writes a text of more than 50,000 characters to a file and shows the model
///   its first 2,000. It accepts images of any size and scales down those with an edge of more than
///   1,932 pixels. It waits up to 300 s between two messages, and the bridge reports progress every
///   ten seconds. It rewrites unions at the root of a schema only from MCP 2026-07-28 on.
/// - Codex 0.169 shows its model 10,000 tokens of all texts together, which it counts as 48,000
///   bytes: their beginning and their end. It sends all pictures again with each request; its
///   service refuses requests of more than 64 MiB (openai/codex#41338) and 50 MB of pictures
///   (<https://platform.openai.com/docs/guides/images-vision>), and scales pictures down to 2,048
///   pixels.
/// - Gemini CLI 0.61 writes a single text of 39,960 characters or more to a file. It shows the
///   model a result of several blocks, such as a truncated one, in full. It sends all pictures again
///   with each request, which may have 20 MB
///   (<https://firebase.google.com/docs/ai-logic/input-file-requirements>). Its models use at most
///   3,072 pixels.
/// - `conformance-test-client` is the official conformance suite, which requires that a server
///   leaves its schemas unchanged. `inspector-cli` and `mcp-inspector` show schemas to developers.
const BUILT_IN_PROFILES: [(&str, Profile); 9] = [
    (
        "mcp-web-agent",
        Profile {
            max_image_edge: Some(1_568),
            ..UNLIMITED
        },
    ),
    (
        "claude-ai",
        Profile {
            max_result_bytes: Some(1_000_000),
            max_text_chars: Some(145_000),
            max_image_edge: Some(1_568),
            patience: Some(Duration::from_secs(50)),
            ..UNLIMITED
        },
    ),
    (
        "Anthropic/ClaudeAI",
        Profile {
            max_result_bytes: Some(1_000_000),
            max_text_chars: Some(145_000),
            max_image_edge: Some(1_568),
            patience: Some(Duration::from_secs(280)),
            ..UNLIMITED
        },
    ),
    (
        "claude-code",
        Profile {
            max_text_chars: Some(CLAUDE_CODE_TEXT_CHARS),
            max_image_edge: Some(1_932),
            ..UNLIMITED
        },
    ),
    (
        "codex-mcp-client",
        Profile {
            max_text_chars: Some(47_000),
            max_image_edge: Some(2_048),
            max_media_bytes: Some(40_000_000),
            ..UNLIMITED
        },
    ),
    (
        "gemini-cli-mcp-client",
        Profile {
            max_text_chars: Some(39_900),
            max_image_edge: Some(3_072),
            max_media_bytes: Some(15_000_000),
            ..UNLIMITED
        },
    ),
    ("conformance-test-client", ACCEPTS_UNIONS),
    ("inspector-cli", ACCEPTS_UNIONS),
    ("mcp-inspector", ACCEPTS_UNIONS),
];

/// A client that shows or checks schemas, and has no model.
const ACCEPTS_UNIONS: Profile = Profile {
    root_unions: true,
    ..UNLIMITED
};

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

    /// The limits of the client with this name in its `clientInfo`. A name that a proxy adds to it
    /// counts only if the operator has a profile for the whole.
    pub fn for_client(&self, client_name: &str) -> Profile {
        let client = client_behind_proxies(client_name);
        let configured = |name| {
            let mut configured = self.configured.iter();
            let found = configured.find(|entry| matches_pattern(&entry.name, name))?;
            Some(found.profile)
        };
        let built_in = || {
            let mut built_in = BUILT_IN_PROFILES.iter();
            let (_, profile) = built_in.find(|(pattern, _)| matches_pattern(pattern, client))?;
            Some(*profile)
        };
        let profile = configured(client_name).or_else(|| configured(client));
        profile.or_else(built_in).unwrap_or_default()
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
        assert_eq!(desktop.max_text_chars, Some(145_000));
        assert_eq!(desktop.max_image_edge, Some(1_568));
        assert_eq!(desktop.patience, Some(Duration::from_secs(50)));
        let code = profiles.for_client("claude-code");
        assert_eq!(code.max_result_bytes, None);
        assert_eq!(code.max_text_chars, Some(50_000));
        assert_eq!(code.max_image_edge, Some(1_932));
        assert_eq!(code.patience, None);
        for unknown in ["", "claude", "claude-ai-2", "Claude-AI", "*", " (via x)"] {
            assert_eq!(
                profiles.for_client(unknown),
                Profile::default(),
                "{unknown}"
            );
        }
    }

    #[test]
    fn clients_are_recognized_behind_proxies_and_by_each_of_their_names() {
        let profiles = Profiles::default();
        let seconds = |name| profiles.for_client(name).patience.map(|it| it.as_secs());
        for (name, patience) in [
            ("claude-ai", Some(50)),
            ("claude-ai (via mcp-remote 0.15.1)", Some(50)),
            ("claude-ai (via mcp-remote 0.15.1) (via another)", Some(50)),
            ("Anthropic/ClaudeAI", Some(280)),
            ("claude-ai (via mcp-remote", None),
            ("claude-ai via mcp-remote)", None),
            ("(via mcp-remote)", None),
            ("mcp (via mcp-remote 0.15.1)", None),
        ] {
            assert_eq!(seconds(name), patience, "{name}");
        }
        // The operator may have a profile for the proxy, which is more specific.
        let profiles = Profiles::new(vec![
            profile_named("claude-ai (via mcp-remote*", 1),
            profile_named("claude-ai", 2),
        ]);
        let bytes = |name| profiles.for_client(name).max_result_bytes;
        assert_eq!(bytes("claude-ai (via mcp-remote 0.15.1)"), Some(1));
        assert_eq!(bytes("claude-ai (via another)"), Some(2));
        assert_eq!(bytes("claude-ai"), Some(2));
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
