//! The messages of a thread, as a client sends them with each request.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A message of the thread. Fields that the agent does not use are not read.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    tag = "role",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum AguiMessage {
    User {
        content: AguiContent,
    },
    Tool {
        content: AguiContent,
        tool_call_id: String,
        /// Why the tool failed, if it did.
        #[serde(default)]
        error: Option<String>,
    },
    Assistant {
        #[serde(default)]
        content: Option<String>,
        #[serde(default, deserialize_with = "null_as_default")]
        tool_calls: Vec<AguiToolCall>,
    },
    /// Instructions of the application.
    #[serde(alias = "developer")]
    System {
        content: String,
    },
    /// Reasoning, activity, and roles of later versions of the protocol.
    #[serde(other)]
    Other,
}

/// A call that an assistant message contains.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AguiToolCall {
    pub(crate) id: String,
    pub(crate) function: Function,
}

/// The name of a called tool, and the arguments as JSON text.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The content of a message: text, or a list of parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum AguiContent {
    Text(String),
    Parts(Vec<MessagePart>),
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum MessagePart {
    Text(String),
    /// A picture or a file.
    File {
        name: Option<String>,
        mime_type: Option<String>,
        source: FileSource,
    },
    /// A part of a kind that the agent does not know.
    Other,
}

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileSource {
    /// In the message, as base64.
    Data(String),
    /// Elsewhere: at a URL, or at the provider of a model. The agent does not fetch them.
    Elsewhere,
}

impl AguiContent {
    /// Returns the text: the text parts, separated by line breaks.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part {
                    MessagePart::Text(text) => Some(text.as_str()),
                    MessagePart::File { .. } | MessagePart::Other => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    pub(crate) fn parts(&self) -> &[MessagePart] {
        match self {
            Self::Text(_) => &[],
            Self::Parts(parts) => parts,
        }
    }
}

/// The fields of all kinds of parts. `binary` is the only kind of file before version 1.0.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartFields {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    source: Option<SourceFields>,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceFields {
    #[serde(rename = "type")]
    kind: String,
    value: String,
    #[serde(default)]
    mime_type: Option<String>,
}

impl<'de> Deserialize<'de> for MessagePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PartFields::deserialize(deserializer).map(Self::from_fields)
    }
}

impl MessagePart {
    fn from_fields(fields: PartFields) -> Self {
        let name = fields.filename.or_else(|| {
            let metadata = fields.metadata.as_ref()?;
            let name = metadata.get("filename").or_else(|| metadata.get("name"));
            name?.as_str().map(str::to_owned)
        });
        match (fields.kind.as_str(), fields.text, fields.source) {
            ("text", Some(text), _) => Self::Text(text),
            ("image" | "audio" | "video" | "document", _, Some(source)) => {
                let (mime_type, source) = match source.kind.as_str() {
                    "data" => (source.mime_type, FileSource::Data(source.value)),
                    "url" => from_url(&source.value, source.mime_type),
                    _ => (source.mime_type, FileSource::Elsewhere),
                };
                Self::File {
                    name,
                    mime_type,
                    source,
                }
            }
            ("binary", ..) => {
                let (mime_type, source) = match (fields.data, fields.url) {
                    (Some(data), _) => (fields.mime_type, FileSource::Data(data)),
                    (None, Some(url)) => from_url(&url, fields.mime_type),
                    (None, None) => (fields.mime_type, FileSource::Elsewhere),
                };
                Self::File {
                    name,
                    mime_type,
                    source,
                }
            }
            _ => Self::Other,
        }
    }
}

/// Reads a `data:` URL (RFC 2397) with base64, which has the bytes in it.
fn from_url(url: &str, mime_type: Option<String>) -> (Option<String>, FileSource) {
    let data = url.strip_prefix("data:").and_then(|it| it.split_once(','));
    match data.and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data))) {
        Some((head, data)) => {
            let of_url = head.split(';').next().filter(|it| !it.is_empty());
            let mime_type = mime_type.or_else(|| of_url.map(str::to_owned));
            (mime_type, FileSource::Data(data.to_owned()))
        }
        None => (mime_type, FileSource::Elsewhere),
    }
}

/// Reads `null` like an absent field: clients from before version 1.0 send it.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(parts: Value) -> Vec<MessagePart> {
        let message = json!({ "id": "1", "role": "user", "content": parts });
        match serde_json::from_value(message).unwrap() {
            AguiMessage::User {
                content: AguiContent::Parts(parts),
            } => parts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_are_read_in_the_forms_of_all_versions() {
        let file = |name: Option<&str>, mime_type: &str, data: &str| {
            (
                name.map(str::to_owned),
                Some(mime_type.to_owned()),
                FileSource::Data(data.to_owned()),
            )
        };
        let read = parts(json!([
            { "type": "image", "source": { "type": "data", "value": "AAAA", "mimeType": "image/png" } },
            { "type": "document", "metadata": { "filename": "a.pdf" },
              "source": { "type": "url", "value": "data:application/pdf;base64,BBBB" } },
            { "type": "binary", "mimeType": "image/gif", "data": "CCCC", "filename": "c.gif" },
            { "type": "binary", "mimeType": "image/gif", "url": "data:image/gif;base64,DDDD" },
        ]));
        let expected = [
            file(None, "image/png", "AAAA"),
            file(Some("a.pdf"), "application/pdf", "BBBB"),
            file(Some("c.gif"), "image/gif", "CCCC"),
            file(None, "image/gif", "DDDD"),
        ];
        let read = read.into_iter().map(|part| match part {
            MessagePart::File {
                name,
                mime_type,
                source,
            } => (name, mime_type, source),
            other => panic!("{other:?}"),
        });
        assert_eq!(read.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn references_to_bytes_and_unknown_parts_are_ignored() {
        let read = parts(json!([
            { "type": "image", "source": { "type": "url", "value": "https://example.com/a.png" } },
            { "type": "image", "source": { "type": "file", "value": "file-1", "provider": "openai" } },
            { "type": "hologram", "depth": 3 },
        ]));
        let elsewhere = |part: &MessagePart| matches!(part, MessagePart::File { source, .. } if *source == FileSource::Elsewhere);
        assert!(elsewhere(&read[0]) && elsewhere(&read[1]));
        assert!(matches!(read[2], MessagePart::Other));
    }

    #[test]
    fn roles_of_other_versions_are_read() {
        for role in ["reasoning", "activity", "oracle"] {
            let message = json!({ "id": "1", "role": role, "content": {} });
            let message = serde_json::from_value(message).unwrap();
            assert!(matches!(message, AguiMessage::Other), "{message:?}");
        }
        let developer = json!({ "id": "1", "role": "developer", "content": "Be brief." });
        assert!(matches!(
            serde_json::from_value(developer).unwrap(),
            AguiMessage::System { .. }
        ));
    }
}
