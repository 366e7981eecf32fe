//! The log of a call's actions, as text and as data.

use crate::encode::quote;
use crate::limits::{MAX_WARNING_CHARS, MAX_WARNINGS};
use crate::refusal::Failure;
use crate::text::{decimal, is_word_char, join_text, one_line};
use crate::value::{ObjectBuilder, Value};

/// The log entry of one action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogEntry {
    /// The number of the action, from 1.
    pub index: usize,
    /// Its type.
    pub kind: String,
    /// The handle of its target.
    pub target: Option<String>,
    /// The event, method, key or page of the action.
    pub detail: Option<String>,
    /// The duration in milliseconds.
    pub ms: f64,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// The handles of the changed elements.
    pub changed: Vec<String>,
    /// The address that the page navigated to.
    pub navigated: Option<String>,
    /// The dialogs of the browser.
    pub dialog: Option<String>,
    /// The status and the text that the page announced to its user.
    pub messages: Vec<(String, String)>,
    /// Errors of the page during the action.
    pub warnings: Vec<String>,
}

impl LogEntry {
    /// Writes the entry as lines: first the action, then the page's reactions.
    pub fn write(&self, out: &mut String) {
        out.push_str(&join_text![decimal(self.index), " ", word_of(&self.kind)]);
        for word in [&self.target, &self.detail].into_iter().flatten() {
            out.push(' ');
            out.push_str(&word_of(word));
        }
        match &self.failure {
            None => out.push_str(" ok"),
            Some(Failure { code, message }) => {
                out.push_str(&join_text![
                    " failed ",
                    code.name(),
                    ": ",
                    one_line(message, 1000)
                ]);
            }
        }
        if !self.changed.is_empty() {
            let changed: Vec<_> = self.changed.iter().map(|it| word_of(it)).collect();
            out.push_str(", changed ");
            out.push_str(&changed.join(" "));
        }
        out.push('\n');
        if let Some(dialog) = &self.dialog {
            out.push_str(&join_text![
                "dialog ",
                one_line(dialog, MAX_WARNING_CHARS),
                "\n"
            ]);
        }
        for (status, content) in &self.messages {
            let content = quote(&one_line(content, MAX_WARNING_CHARS));
            out.push_str(&join_text![
                "message ",
                word_of(status),
                ": ",
                content,
                "\n"
            ]);
        }
        for warning in self.warnings.iter().take(MAX_WARNINGS) {
            let warning = quote(&one_line(warning, MAX_WARNING_CHARS));
            out.push_str(&join_text!["warning: ", warning, "\n"]);
        }
    }

    /// Returns the entry as data for programs.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let texts = |texts: &[String]| (!texts.is_empty()).then(|| Value::from(texts.to_vec()));
        let warnings: Vec<_> = self
            .warnings
            .iter()
            .take(MAX_WARNINGS)
            .map(|warning| one_line(warning, MAX_WARNING_CHARS))
            .collect();
        let messages: Vec<_> = self
            .messages
            .iter()
            .map(|(status, content)| {
                ObjectBuilder::default()
                    .with("status", one_line(status, 40))
                    .with("content", one_line(content, MAX_WARNING_CHARS))
                    .build()
            })
            .collect();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a call has at most 1000 actions"
        )]
        let index = self.index as f64;
        ObjectBuilder::default()
            .with("index", index)
            .with("type", self.kind.clone())
            .with_option("target", self.target.clone())
            .with("ok", self.failure.is_none())
            .with("ms", self.ms.round())
            .with_option("code", self.failure.as_ref().map(|it| it.code.name()))
            .with_option("error", self.failure.as_ref().map(|it| it.message.clone()))
            .with_option("changed", texts(&self.changed))
            .with_option("navigated", self.navigated.clone())
            .with_option("dialog", self.dialog.clone())
            .with_option("messages", (!messages.is_empty()).then_some(messages))
            .with_option("warnings", texts(&warnings))
            .build()
    }

    /// Returns the entry that [`Self::to_value`] made in an earlier document.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a call has at most 1000 actions"
        )]
        let index = value
            .get("index")
            .and_then(Value::as_number)
            .unwrap_or_default() as usize;
        let failure = value.text("code").map(|code| Failure {
            code: crate::ActionCode::from_name(&code),
            message: value.text("error").unwrap_or_default(),
        });
        Self {
            index,
            kind: value.text("type").unwrap_or_default(),
            target: value.text("target"),
            detail: None,
            ms: value
                .get("ms")
                .and_then(Value::as_number)
                .unwrap_or_default(),
            failure,
            changed: value.texts("changed"),
            navigated: value.text("navigated"),
            dialog: value.text("dialog"),
            messages: messages_from_value(value),
            warnings: value.texts("warnings"),
        }
    }
}

/// Returns the status and the text of each message that the page announced, from the field `messages`.
pub(crate) fn messages_from_value(value: &Value) -> Vec<(String, String)> {
    let messages = value.get("messages").and_then(Value::as_array);
    let messages = messages.unwrap_or_default().iter();
    let text = |message: &Value, name| message.text(name).unwrap_or_default();
    messages
        .map(|message| (text(message, "status"), text(message, "content")))
        .collect()
}

/// Writes a word unchanged, and any other text in quotes.
fn word_of(text: &str) -> String {
    let text = one_line(text, 100);
    let is_word = !text.is_empty()
        && text
            .chars()
            .all(|it| is_word_char(it) || matches!(it, '-' | '_' | '.' | '/' | '+'));
    if is_word { text } else { quote(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ActionCode;

    fn text_of(entry: &LogEntry) -> String {
        let mut text = String::new();
        entry.write(&mut text);
        text
    }

    #[test]
    fn an_entry_is_a_line() {
        let mut entry = LogEntry {
            index: 1,
            kind: "setValue".into(),
            target: Some("e3".into()),
            changed: vec!["e3".into()],
            ..LogEntry::default()
        };
        assert_eq!(text_of(&entry), "1 setValue e3 ok, changed e3\n");
        entry = LogEntry {
            index: 2,
            kind: "triggerEvent".into(),
            target: Some("e7".into()),
            detail: Some("onClick".into()),
            failure: Some(Failure::new(
                ActionCode::TargetDisabled,
                "button \"Save\" is disabled",
            )),
            ..LogEntry::default()
        };
        assert_eq!(
            text_of(&entry),
            "2 triggerEvent e7 onClick failed TargetDisabled: button \"Save\" is disabled\n"
        );
    }

    #[test]
    fn texts_of_the_page_stay_on_their_line() {
        let entry = LogEntry {
            index: 1,
            kind: "pressKey".into(),
            detail: Some("Enter\n2 setValue e1 ok".into()),
            messages: vec![("error".into(), "Wrong\nend of page 1234".into())],
            warnings: vec!["x".repeat(400)],
            dialog: Some("alert \"Hello\"".into()),
            ..LogEntry::default()
        };
        let text = text_of(&entry);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "1 pressKey \"Enter 2 setValue e1 ok\" ok");
        assert_eq!(lines[1], "dialog alert \"Hello\"");
        assert_eq!(lines[2], "message error: \"Wrong end of page 1234\"");
        assert!(
            lines[3].starts_with("warning: \"xxx") && lines[3].ends_with("… (of 400 characters)\"")
        );
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn an_entry_is_restored_in_the_next_document() {
        let entry = LogEntry {
            index: 3,
            kind: "navigate".into(),
            target: Some("e1".into()),
            ms: 12.0,
            failure: Some(Failure::new(ActionCode::ActionFailed, "no")),
            changed: vec!["e2".into()],
            navigated: Some("/next".into()),
            dialog: Some("alert \"a\"".into()),
            messages: vec![("info".into(), "hello".into())],
            warnings: vec!["w".into()],
            ..LogEntry::default()
        };
        assert_eq!(LogEntry::from_value(&entry.to_value()), entry);
    }
}
