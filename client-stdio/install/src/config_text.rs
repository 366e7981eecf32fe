//! The text of a configuration file in its format.

use bridge_shared_files::jsonc;
use serde_json::{Map, Value};

use crate::client::FileFormat;
use crate::member_edit::MemberEdit;
use crate::{toml_text, yaml_block};

/// The character with which some editors of Windows begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A parsed text.
#[derive(Debug)]
pub(crate) struct ConfigText {
    format: FileFormat,
    has_byte_order_mark: bool,
    text: String,
    document: Map<String, Value>,
}

impl ConfigText {
    /// Parses the content of a file. A file that does not exist, and one without a value, is an empty
    /// object.
    ///
    /// # Errors
    ///
    /// The error has the line and the column.
    pub(crate) fn parse(format: FileFormat, content: Option<&[u8]>) -> Result<Self, String> {
        let text = std::str::from_utf8(content.unwrap_or_default());
        let text = text.map_err(|_| "it is not UTF-8: save it as UTF-8".to_owned())?;
        let stripped = text.strip_prefix(BYTE_ORDER_MARK);
        let has_byte_order_mark = stripped.is_some();
        let text = stripped.unwrap_or(text).to_owned();
        Ok(Self {
            format,
            has_byte_order_mark,
            document: parse(format, &text)?,
            text,
        })
    }

    /// Returns the parsed text.
    pub(crate) fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Whether both texts have the same values and comments, and differ only in space, commas and the
    /// brackets of an empty object.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let words = |it: &Self| -> String {
            let text = it.text.chars();
            text.filter(|it| !it.is_whitespace() && !",{}".contains(*it))
                .collect()
        };
        self.document == other.document && words(self) == words(other)
    }

    /// Returns the servers below a key: the object there, or none.
    ///
    /// # Errors
    ///
    /// The value there is not an object.
    pub(crate) fn servers(&self, key: &str) -> Result<Option<&Map<String, Value>>, String> {
        match self.document.get(key) {
            None => Ok(None),
            Some(Value::Object(servers)) => Ok(Some(servers)),
            Some(_) => Err(format!(
                "`{key}` is not an object with the names of servers"
            )),
        }
    }

    /// Makes changes. Afterwards the text is parsed again: it must have these changes and no other.
    ///
    /// # Errors
    ///
    /// The text is in a form in which a change cannot be made. The text is as before.
    pub(crate) fn apply(&mut self, edits: &[MemberEdit]) -> Result<(), String> {
        let mut text = self.text.clone();
        let mut expected = self.document.clone();
        for edit in edits {
            text = edited(self.format, &text, edit)?;
            edit.apply(&mut expected);
        }
        let document = parse(self.format, &text)?;
        if without_empty(&document) != without_empty(&expected) {
            return Err("another part of it would change".to_owned());
        }
        (self.text, self.document) = (text, document);
        Ok(())
    }

    /// Whether the text has neither a member nor a comment.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.text.trim(), "" | "{}")
    }

    /// Returns the content of the file.
    pub(crate) fn content(&self) -> Vec<u8> {
        let mut content = String::with_capacity(self.text.len() + BYTE_ORDER_MARK.len_utf8());
        if self.has_byte_order_mark {
            content.push(BYTE_ORDER_MARK);
        }
        content.push_str(&self.text);
        content.into_bytes()
    }
}

/// Writes an object below a path of two keys, as a new file would have it.
pub(crate) fn render_entry(format: FileFormat, path: [&str; 2], entry: &Value) -> String {
    let [key, name] = path;
    let document = |entry: &Value| {
        let servers = Map::from_iter([(name.to_owned(), entry.clone())]);
        Map::from_iter([(key.to_owned(), servers.into())])
    };
    match (format, entry.as_object()) {
        (FileFormat::Toml, Some(members)) => toml_text::render_table(&path, members),
        (FileFormat::Yaml, _) => yaml_block::render(&document(entry)),
        _ => jsonc::render_value(&document(entry).into()) + "\n",
    }
}

fn parse(format: FileFormat, text: &str) -> Result<Map<String, Value>, String> {
    match format {
        FileFormat::Toml => toml_text::parse(text),
        FileFormat::Yaml => Err("this program does not read YAML".to_owned()),
        FileFormat::Jsonc => match jsonc::parse(text)? {
            None => Ok(Map::new()),
            Some(Value::Object(document)) => Ok(document),
            Some(_) => Err("line 1, column 1: it is not an object".to_owned()),
        },
    }
}

fn edited(format: FileFormat, text: &str, edit: &MemberEdit) -> Result<String, String> {
    let (MemberEdit::Set(path, _) | MemberEdit::Remove(path)) = edit;
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    match (format, edit) {
        (FileFormat::Toml, MemberEdit::Set(_, value)) => toml_text::with_member(text, &path, value),
        (FileFormat::Toml, MemberEdit::Remove(_)) => toml_text::without_member(text, &path),
        (_, MemberEdit::Set(_, value)) => jsonc::with_member(text, &path, value),
        (_, MemberEdit::Remove(_)) => jsonc::without_member(text, &path),
    }
}

/// Returns a document without empty objects at its top: the table of servers of TOML ends with the
/// last server.
fn without_empty(document: &Map<String, Value>) -> Map<String, Value> {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let members = document.iter().filter(|(_, value)| !is_empty(value));
    members
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
