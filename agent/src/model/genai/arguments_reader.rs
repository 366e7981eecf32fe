//! Finds the new piece of the arguments in each chunk of a call.

use genai::chat::ToolCall;
use serde_json::Value;

/// The calls of a turn, with how much of their arguments was read.
#[derive(Debug, Default)]
pub(super) struct ArgumentsReader {
    calls: Vec<StartedCall>,
}

#[derive(Debug)]
struct StartedCall {
    id: String,
    read_bytes: usize,
}

impl ArgumentsReader {
    /// Returns the index of the call in the turn and the piece that was not read before, if the
    /// chunk has one.
    pub(super) fn read(&mut self, chunk: &ToolCall) -> Option<(usize, String)> {
        let (index, delta) = match &chunk.fn_arguments {
            // genai repeats everything that the model has written of this call.
            Value::String(text) => {
                let index = self.position(&chunk.call_id);
                let call = &mut self.calls[index];
                let delta = text.get(call.read_bytes..).unwrap_or_default().to_owned();
                call.read_bytes += delta.len();
                (index, delta)
            }
            // Gemini and Ollama send a call in one chunk. Calls of one tool may have the same id.
            Value::Null => (self.start(&chunk.call_id), String::new()),
            whole => (self.start(&chunk.call_id), whole.to_string()),
        };
        (!delta.is_empty()).then_some((index, delta))
    }

    fn position(&mut self, id: &str) -> usize {
        let known = self.calls.iter().position(|call| call.id == id);
        known.unwrap_or_else(|| self.start(id))
    }

    fn start(&mut self, id: &str) -> usize {
        self.calls.push(StartedCall {
            id: id.to_owned(),
            read_bytes: 0,
        });
        self.calls.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chunk(id: &str, arguments: Value) -> ToolCall {
        ToolCall {
            call_id: id.to_owned(),
            fn_name: "add".to_owned(),
            fn_arguments: arguments,
            thought_signatures: None,
        }
    }

    #[test]
    fn repeated_text_is_read_once_and_calls_may_alternate() {
        let mut reader = ArgumentsReader::default();
        let read: Vec<_> = [
            ("a", ""),
            ("a", "{\"t"),
            ("b", "{"),
            ("a", "{\"t\":1}"),
            ("b", "{}"),
        ]
        .iter()
        .filter_map(|(id, text)| reader.read(&chunk(id, json!(text))))
        .collect();
        let expected = [(0, "{\"t"), (1, "{"), (0, "\":1}"), (1, "}")];
        assert_eq!(read, expected.map(|(index, text)| (index, text.to_owned())));
    }

    #[test]
    fn whole_arguments_are_one_piece_and_each_chunk_is_a_call() {
        let mut reader = ArgumentsReader::default();
        assert_eq!(reader.read(&chunk("a", Value::Null)), None);
        for index in [1, 2] {
            let piece = reader.read(&chunk("a", json!({ "n": 1 })));
            assert_eq!(piece, Some((index, r#"{"n":1}"#.to_owned())));
        }
    }
}
