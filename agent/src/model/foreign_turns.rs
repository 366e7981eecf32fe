//! Decides which turns of a history go back in the format of their provider.
//!
//! Providers refuse signed or encrypted thoughts that another server or account has issued, and some
//! models also those that stood after other messages. Such a turn is written from its text and calls.

use super::kept_turn::{Issuer, TurnOrigin};
use super::wires::tool::WireTool;
use super::{Media, ModelMessage};
use crate::digest::Digest;

/// Drops from a history what must not be sent back to an issuer. `prefix` is what stands before the
/// history, for a model that checks it. Returns the origin of the turn that follows.
pub(super) fn drop_foreign_turns(
    history: &mut [ModelMessage],
    issuer: &Issuer,
    mut prefix: Option<TurnPrefix>,
) -> TurnOrigin {
    for message in history {
        if let ModelMessage::Model(turn) = message
            && let Some(kept) = &turn.kept
            && !is_accepted(&kept.origin, issuer, prefix.as_ref())
        {
            turn.kept = None;
        }
        if let Some(prefix) = &mut prefix {
            prefix.add(message);
        }
    }
    TurnOrigin {
        issuer: issuer.clone(),
        prefix: prefix.map(|prefix| prefix.0.to_hex()),
    }
}

fn is_accepted(origin: &TurnOrigin, issuer: &Issuer, prefix: Option<&TurnPrefix>) -> bool {
    let is_after_prefix = match (&origin.prefix, prefix) {
        (Some(before), Some(now)) => *before == now.0.to_hex(),
        // Either of both models does not check it.
        (None, _) | (_, None) => true,
    };
    origin.issuer == *issuer && is_after_prefix
}

/// The digest of everything that stands before a turn in a request.
#[derive(Debug)]
pub(super) struct TurnPrefix(Digest);

impl TurnPrefix {
    /// Creates the prefix of the first message of a request.
    pub(super) fn new(system: &str, tools: &[WireTool], with_thoughts: bool) -> Self {
        let mut digest = Digest::new("mcp-web-agent: prefix of a turn, version 1")
            .with(system)
            .with([u8::from(with_thoughts)]);
        for tool in tools {
            digest.add(&tool.sent_name);
            digest.add(&tool.description);
            digest.add(tool.schema.to_string());
        }
        Self(digest)
    }

    /// Adds a message. A turn that is sent back as it came differs from the same one in other words.
    fn add(&mut self, message: &ModelMessage) {
        let digest = &mut self.0;
        match message {
            ModelMessage::User(user) => {
                digest.add("user");
                digest.add(&user.text);
                add_media(digest, &user.media);
            }
            // Otherwise the same is written, and conversations do not store it.
            ModelMessage::Model(turn) => match turn.kept.as_ref().filter(|it| it.is_needed()) {
                Some(kept) => {
                    digest.add("kept");
                    for block in &kept.blocks {
                        digest.add(block.to_string());
                    }
                }
                None => {
                    digest.add("model");
                    digest.add(&turn.text);
                    for call in &turn.calls {
                        digest.add(&call.id);
                        digest.add(&call.tool);
                        digest.add(serde_json::to_string(&call.arguments).unwrap_or_default());
                    }
                }
            },
            ModelMessage::Results(results) => {
                digest.add("results");
                for result in results {
                    digest.add(&result.id);
                    digest.add(&result.text);
                    digest.add([u8::from(result.is_error)]);
                    add_media(digest, &result.media);
                }
            }
        }
    }
}

fn add_media(digest: &mut Digest, media: &[Media]) {
    for media in media {
        digest.add(&media.mime_type);
        digest.add(&*media.data);
    }
}

#[cfg(test)]
mod tests;
