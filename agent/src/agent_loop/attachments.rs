//! Pictures and files: those that a person attaches to a prompt, and those in results of tools.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent_tools::{AgentFailure, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bridge_protocol::{Attachment, ErrorCode};
use serde_json::json;

use crate::model::{Media, Model, essence};

/// The largest picture or file, in bytes of base64: Anthropic accepts 5 MB for a picture.
const MAX_MEDIA_BYTES: usize = 5 * 1024 * 1024;

/// The maximum number of pictures and files that a model gets in a query.
const MAX_MEDIA: usize = 20;

/// The maximum size of them all, in bytes of base64. Each request of a query sends them again, and
/// Gemini accepts requests of 20 MB.
const MAX_ALL_MEDIA_BYTES: usize = 15_000_000;

/// The attachments of a prompt as the model gets them.
#[derive(Debug, Default)]
pub(super) struct PromptAttachments {
    pub(super) media: Vec<Media>,
    /// Lines of context: texts, and descriptions of what the model cannot read.
    pub(super) items: Vec<String>,
}

/// Decides which pictures and files the model of a query gets.
#[derive(Debug, Default)]
pub(crate) struct MediaFilter {
    passed: Mutex<PassedMedia>,
}

/// The pictures and files that the model gets.
#[derive(Debug, Default)]
struct PassedMedia {
    count: usize,
    bytes: usize,
}

impl MediaFilter {
    /// Converts the attachments of a prompt.
    pub(super) fn convert_attachments(
        &self,
        attachments: &[Attachment],
        model: &dyn Model,
    ) -> Result<PromptAttachments, AgentFailure> {
        let mut converted = PromptAttachments::default();
        for attachment in attachments {
            let content = STANDARD.decode(&attachment.data);
            let content = content.map_err(|_| invalid(attachment, "its data is not base64"))?;
            let mime_type = essence(&attachment.mime_type).ok_or_else(|| {
                invalid(attachment, "its `mimeType` is not one, such as image/png")
            })?;
            let media = Media {
                name: attachment.name.clone(),
                mime_type,
                data: attachment.data.as_str().into(),
            };
            match String::from_utf8(content) {
                Ok(text) if is_text(&media.mime_type) => {
                    converted.items.push(file_item(&media, "", Some(&text)));
                }
                _ => match self.reason_to_omit(&media, model) {
                    None => converted.media.push(media),
                    Some(reason) => {
                        let remark = format!("; {reason}");
                        converted.items.push(file_item(&media, &remark, None));
                    }
                },
            }
        }
        Ok(converted)
    }

    /// Returns the pictures of a result that the model gets, and a note for each reason why others are
    /// left out. The text of the result describes all.
    pub(super) fn filter(
        &self,
        pictures: Vec<Media>,
        model: &dyn Model,
    ) -> (Vec<Media>, Vec<String>) {
        let mut passed = Vec::new();
        let mut omitted: BTreeMap<&str, usize> = BTreeMap::new();
        for picture in pictures {
            match self.reason_to_omit(&picture, model) {
                None => passed.push(picture),
                Some(reason) => *omitted.entry(reason).or_default() += 1,
            }
        }
        let notes = omitted.into_iter().map(|(reason, count)| match count {
            1 => format!("A picture is left out: {reason}."),
            _ => format!("{count} pictures are left out. Of each of them: {reason}."),
        });
        (passed, notes.collect())
    }

    /// Counts the media, unless the model does not get them.
    fn reason_to_omit(&self, media: &Media, model: &dyn Model) -> Option<&'static str> {
        let bytes = media.data.len();
        if !model.reads_media(&media.mime_type) {
            Some("this model cannot read it")
        } else if !media.has_content_of_its_type() {
            Some("its content is not of the type that it names")
        } else if bytes > MAX_MEDIA_BYTES {
            Some("it is too large for this model")
        } else if !self.has_room_for(bytes) {
            Some("there were too many files before it for this model")
        } else {
            None
        }
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let with_it = PassedMedia {
            count: passed.count + 1,
            bytes: passed.bytes + bytes,
        };
        let has_room = with_it.count <= MAX_MEDIA && with_it.bytes <= MAX_ALL_MEDIA_BYTES;
        if has_room {
            *passed = with_it;
        }
        has_room
    }
}

/// Returns a line of context for a file, in the form of the other items.
fn file_item(media: &Media, remark: &str, text: Option<&str>) -> String {
    let description = format!(
        "A file that the person attached ({}){remark}",
        media.describe()
    );
    let name = media.name.as_deref().unwrap_or("file");
    let mut item = json!({ "name": name, "from": "the person", "description": description });
    if let Some(text) = text {
        item["value"] = text.into();
    }
    item.to_string()
}

fn is_text(mime_type: &str) -> bool {
    const TEXTS: [&str; 5] = [
        "application/json",
        "application/xml",
        "application/yaml",
        "application/javascript",
        "image/svg+xml",
    ];
    mime_type.starts_with("text/")
        || mime_type.ends_with("+json")
        || mime_type.ends_with("+xml")
        || TEXTS.contains(&mime_type)
}

fn invalid(attachment: &Attachment, reason: &str) -> AgentFailure {
    let name = attachment.name.as_deref().unwrap_or("without a name");
    let name = text::shorten_name(name);
    let message = format!("the attachment {name:?} cannot be used: {reason}");
    AgentFailure::new(ErrorCode::ProtocolViolation, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_loop::tests::FakeModel;

    /// The beginning of a picture.
    const PNG: &str = "iVBORw0KGgoA";

    fn attachment(name: &str, mime_type: &str, data: &str) -> Attachment {
        Attachment {
            name: Some(name.to_owned()),
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
        }
    }

    fn convert(attachments: &[Attachment]) -> Result<PromptAttachments, AgentFailure> {
        let filter = MediaFilter::default();
        filter.convert_attachments(attachments, &FakeModel::new([]))
    }

    #[test]
    fn pictures_are_passed_on_texts_are_context_and_the_rest_is_described() {
        let converted = convert(&[
            attachment("a.png", "IMAGE/PNG", PNG),
            attachment("b.md", "text/markdown", &STANDARD.encode("# Wörter")),
            attachment("c.bin", "application/x-bin", "////"),
            attachment("d.txt", "text/plain", "////"),
            attachment("e.png", "image/png", "AAAA"),
        ])
        .unwrap();
        assert_eq!(
            format!("{:?}", converted.media),
            "[Media(a.png, image/png, 9 bytes)]"
        );
        let item = |name: &str, description: &str| {
            format!(
                r#"{{"name":"{name}","from":"the person","description":"A file that the person attached ({name}, {description}"#
            )
        };
        let expected = [
            item("b.md", r##"text/markdown, 9 bytes)","value":"# Wörter"}"##),
            item(
                "c.bin",
                r#"application/x-bin, 3 bytes); this model cannot read it"}"#,
            ),
            item(
                "d.txt",
                r#"text/plain, 3 bytes); this model cannot read it"}"#,
            ),
            item(
                "e.png",
                r#"image/png, 3 bytes); its content is not of the type that it names"}"#,
            ),
        ];
        assert_eq!(converted.items, expected);
    }

    #[test]
    fn pictures_of_results_are_left_out_with_the_reason() {
        let picture = |mime_type: &str, data: &str| Media {
            name: None,
            mime_type: mime_type.to_owned(),
            data: data.into(),
        };
        let pictures = vec![
            picture("image/png", "AAAA"),
            picture("image/png", PNG),
            picture("image/x", PNG),
        ];
        let filter = MediaFilter::default();
        let (passed, notes) = filter.filter(pictures, &FakeModel::new([]));
        assert_eq!(passed, [picture("image/png", PNG)]);
        let expected = [
            "A picture is left out: its content is not of the type that it names.",
            "A picture is left out: this model cannot read it.",
        ];
        assert_eq!(notes, expected);
        // However many there are, each reason is named once.
        let many = vec![picture("image/png", "AAAA"); 1_000];
        let (_, notes) = filter.filter(many, &FakeModel::new([]));
        assert_eq!(notes.len(), 1);
        // A picture that does not fit leaves the room to others.
        let large = PNG.to_owned() + &"AAAA".repeat(1_000_000);
        let large = vec![picture("image/png", &large); MAX_MEDIA];
        assert_eq!(filter.filter(large, &FakeModel::new([])).0.len(), 3);
        let small = vec![picture("image/png", PNG); MAX_MEDIA];
        let (passed, notes) = filter.filter(small, &FakeModel::new([]));
        assert_eq!(passed.len(), MAX_MEDIA - 4);
        assert!(
            notes[0].starts_with("4 pictures are left out."),
            "{notes:?}"
        );
    }

    #[test]
    fn an_attachment_that_is_not_base64_or_has_no_type_is_refused() {
        for (mime_type, data, part) in [
            ("image/png", "data:image/png;base64,AAAA", "not base64"),
            ("png", "AAAA", "`mimeType`"),
            ("image/", "AAAA", "`mimeType`"),
        ] {
            let failure = convert(&[attachment("x", mime_type, data)]).unwrap_err();
            assert_eq!(failure.code, ErrorCode::ProtocolViolation);
            assert!(failure.message.contains(part), "{failure}");
        }
    }

    #[test]
    fn attachments_that_are_too_large_or_too_many_are_only_described() {
        let large = PNG.to_owned() + &"AAAA".repeat(MAX_MEDIA_BYTES / 4);
        let converted = convert(&[attachment("large", "image/png", &large)]).unwrap();
        assert_eq!((converted.media.len(), converted.items.len()), (0, 1));
        assert!(converted.items[0].contains("it is too large"));
        let large = PNG.to_owned() + &"AAAA".repeat(1_000_000);
        let heavy = vec![attachment("a", "image/png", &large); 5];
        let converted = convert(&heavy).unwrap();
        assert_eq!((converted.media.len(), converted.items.len()), (3, 2));
        assert!(converted.items[1].contains("too many files before it"));
        let many = vec![attachment("a", "image/png", PNG); MAX_MEDIA + 2];
        let converted = convert(&many).unwrap();
        assert_eq!(
            (converted.media.len(), converted.items.len()),
            (MAX_MEDIA, 2)
        );
    }
}
