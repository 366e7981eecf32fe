//! Checks the answers to calls.

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use serde_json::Value;

use crate::request::ID_DIGITS;

/// The form of the answers on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// The bytes that the page sent.
    Bytes,
    /// The result of a tool.
    Result,
    /// A response of JSON-RPC with such a result.
    Rpc,
    /// A response of JSON-RPC as mcp-web 0.1 sends it: the value only as text, in any spelling.
    RpcV1,
}

/// Checks the first answer in full and compares the others with it.
pub(crate) struct AnswerChecker {
    form: AnswerForm,
    /// The result of the pages' tools, as JSON.
    payload: String,
    first: Option<FirstAnswer>,
}

struct FirstAnswer {
    message: Vec<u8>,
    id_position: Option<usize>,
}

impl AnswerChecker {
    pub(crate) fn new(form: AnswerForm, payload: String) -> Self {
        Self {
            form,
            payload,
            first: None,
        }
    }

    /// Checks the answer to the call with this id.
    ///
    /// # Errors
    /// Returns an error that describes the difference when the answer is wrong.
    pub(crate) fn check(&mut self, message: &[u8], id: u64) -> Result<()> {
        if self
            .first
            .as_ref()
            .is_some_and(|first| first.matches(message, id))
        {
            return Ok(());
        }
        self.check_in_full(message, id).with_context(|| {
            let excerpt = String::from_utf8_lossy(&message[..message.len().min(2_000)]);
            format!("the answer to call {id} is wrong: {excerpt}")
        })?;
        let id_position = memmem::find(message, id.to_string().as_bytes());
        self.first = Some(FirstAnswer {
            message: message.to_vec(),
            id_position: id_position.filter(|_| self.has_id()),
        });
        Ok(())
    }

    fn has_id(&self) -> bool {
        matches!(self.form, AnswerForm::Rpc | AnswerForm::RpcV1)
    }

    fn check_in_full(&self, message: &[u8], id: u64) -> Result<()> {
        if self.form == AnswerForm::Bytes {
            ensure!(
                message == self.payload.as_bytes(),
                "other bytes than the page sent"
            );
            return Ok(());
        }
        let mut answer: Value = serde_json::from_slice(message).context("not JSON")?;
        let result = if self.has_id() {
            ensure!(answer["id"] == id, "another id");
            answer["result"].take()
        } else {
            answer
        };
        ensure!(result["isError"] != true, "a failure");
        let content = result["content"].as_array().context("no content")?;
        let [block] = content.as_slice() else {
            bail!("{} content blocks", content.len());
        };
        let text = block["text"].as_str().context("no text block")?;
        let sent: Value = serde_json::from_str(&self.payload)?;
        if let Value::String(sent) = &sent {
            ensure!(text == sent, "another text");
        } else if self.form == AnswerForm::RpcV1 {
            let actual: Value = serde_json::from_str(text).context("the text is not JSON")?;
            ensure!(actual == sent, "another value");
        } else {
            ensure!(text == self.payload, "another text");
            ensure!(
                result["structuredContent"] == sent,
                "another structured content"
            );
        }
        Ok(())
    }
}

impl FirstAnswer {
    fn matches(&self, message: &[u8], id: u64) -> bool {
        if self.message.len() != message.len() {
            return false;
        }
        let Some(at) = self.id_position else {
            return self.message == message;
        };
        let end = at + ID_DIGITS;
        message[..at] == self.message[..at]
            && message[end..] == self.message[end..]
            && str::from_utf8(&message[at..end]).is_ok_and(|digits| digits.parse() == Ok(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: u64 = 1_000_000_007;

    fn checker() -> AnswerChecker {
        AnswerChecker::new(AnswerForm::Rpc, "{\"a\":1}".to_owned())
    }

    fn answer(id: u64, text: &str, value: &str) -> String {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\
             \"text\":{text:?}}}],\"structuredContent\":{value}}}}}"
        )
    }

    #[test]
    fn correct_answers_pass() {
        let mut checker = checker();
        for id in [ID, ID + 1, ID + 1_000] {
            let right = answer(id, "{\"a\":1}", "{\"a\":1}");
            checker.check(right.as_bytes(), id).unwrap();
        }
    }

    #[test]
    fn wrong_answers_fail_before_and_after_a_correct_one() {
        for first in [false, true] {
            let mut checker = checker();
            let right = answer(ID, "{\"a\":1}", "{\"a\":1}");
            if !first {
                checker.check(right.as_bytes(), ID).unwrap();
            }
            for (wrong, why) in [
                (answer(ID + 1, "{\"a\":1}", "{\"a\":1}"), "another id"),
                (answer(ID, "{\"a\":2}", "{\"a\":1}"), "another text"),
                (answer(ID, "{\"a\":1}", "{\"a\":2}"), "another structured"),
                (right.replace("}}}", "},\"isError\":true}}"), "a failure"),
                (right.replace("content", "contents"), "no content"),
                ("{".to_owned(), "not JSON"),
            ] {
                let error = checker.check(wrong.as_bytes(), ID).unwrap_err();
                assert!(format!("{error:#}").contains(why), "{error:#}");
            }
        }
    }

    #[test]
    fn bytes_and_results_of_other_routes_are_checked() {
        let mut bytes = AnswerChecker::new(AnswerForm::Bytes, "abc".to_owned());
        bytes.check(b"abc", ID).unwrap();
        bytes.check(b"abd", ID).unwrap_err();
        let result = r#"{"content":[{"type":"text","text":"{ \"a\": 1 }"}]}"#;
        let mut v1 = AnswerChecker::new(AnswerForm::RpcV1, "{\"a\":1}".to_owned());
        v1.check(format!(r#"{{"id":{ID},"result":{result}}}"#).as_bytes(), ID)
            .unwrap();
        let mut plain = AnswerChecker::new(AnswerForm::Result, "{\"a\":1}".to_owned());
        plain.check(result.as_bytes(), ID).unwrap_err();
    }
}
