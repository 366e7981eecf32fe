//! Messages of the person and changes of the application while a query waits for the client.

use bridge_protocol::{Attachment, ContextItem};

use super::attachments::PromptAttachments;
use super::boundary::PromptBoundary;
use super::context::delimit;
use crate::model::{ModelMessage, UserMessage};

/// A message that the person sent while the query waited for the client, with new context.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddedPrompt {
    pub(crate) text: String,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) context: Vec<ContextItem>,
}

impl AddedPrompt {
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty() && self.context.is_empty()
    }

    /// Returns the message for the model. `attachments` are those of this prompt.
    pub(super) fn into_message(
        self,
        attachments: PromptAttachments,
        boundary: &PromptBoundary,
    ) -> ModelMessage {
        let PromptAttachments { media, items } = attachments;
        let mut text = delimit(None, &self.context, &items, boundary);
        if self.text.trim().is_empty() {
            // Providers do not accept a message without text.
            boundary.append_note(
                &mut text,
                "The person has added this and said nothing else.",
            );
        } else {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&self.text);
        }
        ModelMessage::User(UserMessage { text, media })
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::ContextKind;

    use super::*;
    use crate::model::Media;

    fn message(prompt: AddedPrompt, attachments: PromptAttachments) -> UserMessage {
        let boundary = PromptBoundary::from_text("m");
        match prompt.into_message(attachments, &boundary) {
            ModelMessage::User(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_always_has_a_text() {
        assert!(AddedPrompt::default().is_empty());
        let said = AddedPrompt {
            text: "Continue".to_owned(),
            ..AddedPrompt::default()
        };
        assert!(!said.is_empty());
        assert_eq!(
            message(said.clone(), PromptAttachments::default()).text,
            "Continue"
        );
        let picture = Media {
            name: None,
            mime_type: "image/png".to_owned(),
            data: "AAAA".into(),
        };
        let attachments = PromptAttachments {
            media: vec![picture],
            items: Vec::new(),
        };
        let silent = message(AddedPrompt::default(), attachments);
        assert_eq!(silent.media.len(), 1);
        assert!(silent.text.starts_with("[service m] "), "{}", silent.text);
        let with_state = AddedPrompt {
            context: vec![ContextItem {
                name: "state".to_owned(),
                value: None,
                schema: None,
                description: None,
                kind: ContextKind::Ephemeral,
            }],
            ..said
        };
        let text = message(with_state, PromptAttachments::default()).text;
        assert!(
            text.starts_with("[context m]") && text.ends_with("m]\n\nContinue"),
            "{text}"
        );
    }
}
