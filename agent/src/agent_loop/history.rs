//! The messages that the model gets: those of earlier queries of the conversation, then those of this
//! query.

use super::budget::history_bytes;
use super::transcript::Transcript;
use crate::model::{CallResult, ModelMessage, ModelTurn};

/// The text in place of a result that is no longer sent to the model.
const DROPPED_RESULT: &str = "[This result was left out: the conversation is long.]";

/// The messages that the model gets. Those of this query are also written to its transcript.
#[derive(Debug)]
pub(super) struct History<'a> {
    earlier: Vec<ModelMessage>,
    own: Vec<ModelMessage>,
    transcript: &'a Transcript,
}

impl<'a> History<'a> {
    pub(super) fn new(earlier: Vec<ModelMessage>, transcript: &'a Transcript) -> Self {
        Self {
            earlier,
            own: Vec::new(),
            transcript,
        }
    }

    /// Begins this query with a message. `remembered` is the form for later queries of the
    /// conversation of it, if the query belongs to one.
    pub(super) fn begin(&mut self, opening: ModelMessage, remembered: Option<ModelMessage>) {
        self.own = vec![opening];
        if let Some(remembered) = remembered {
            self.transcript.begin(remembered);
        }
    }

    /// Appends a message of the service to the model, which later queries do not get.
    pub(super) fn push_reminder(&mut self, text: String) {
        self.own.push(ModelMessage::from_text(text));
    }

    pub(super) fn push(&mut self, message: ModelMessage) {
        self.transcript.push(&message);
        self.own.push(message);
    }

    /// Appends a turn of the model. `registered_name` returns the name under which the page has
    /// registered a tool.
    pub(super) fn push_turn<'b>(
        &mut self,
        turn: &'b ModelTurn,
        registered_name: impl Fn(&'b str) -> &'b str,
    ) {
        for call in &turn.calls {
            self.transcript
                .name_tool(&call.tool, registered_name(&call.tool));
        }
        self.push(ModelMessage::Model(turn.clone()));
    }

    /// Returns all messages as the model reads them, and how many of them are of earlier queries.
    pub(super) fn messages(&self) -> (Vec<ModelMessage>, usize) {
        let messages = self.earlier.iter().chain(&self.own);
        let mut messages: Vec<_> = messages.cloned().collect();
        for message in &mut messages {
            if let ModelMessage::Results(results) = message {
                results.iter_mut().for_each(CallResult::join_notes);
            }
        }
        (messages, self.earlier.len())
    }

    /// Changes the notes of the last result, before the model gets it.
    pub(super) fn change_last_notes(&mut self, change: impl FnOnce(&mut String)) {
        if let Some(message) = self.own.last_mut()
            && let ModelMessage::Results(results) = message
            && let Some(last) = results.last_mut()
        {
            change(&mut last.notes);
            self.transcript.replace_last(message);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.earlier_bytes() + history_bytes(&self.own)
    }

    pub(super) fn earlier_bytes(&self) -> u64 {
        history_bytes(&self.earlier)
    }

    /// Replaces the pictures and files of earlier queries by their descriptions. Returns whether there
    /// were any.
    pub(super) fn drop_earlier_media(&mut self) -> bool {
        let dropped = self.earlier.iter_mut().map(ModelMessage::drop_media);
        dropped.fold(false, |any, is_dropped| any | is_dropped)
    }

    /// Drops the thoughts of earlier queries. Returns whether there were any.
    pub(super) fn drop_earlier_kept(&mut self) -> bool {
        drop_kept(&mut self.earlier)
    }

    /// Shortens the messages of earlier queries to this size: their thoughts are left out first, all at
    /// once so that later requests begin alike, then the oldest results and the oldest queries.
    pub(super) fn shorten_earlier(&mut self, max_bytes: u64) -> Shortened {
        let length = self.earlier.len();
        let has_dropped_kept = self.earlier_bytes() > max_bytes && self.drop_earlier_kept();
        let excess = self.earlier_bytes().saturating_sub(max_bytes);
        let dropped = drop_results(&mut self.earlier, excess);
        self.drop_queries(max_bytes);
        self.shortened(length, dropped, has_dropped_kept)
    }

    /// Shortens all messages to this size as far as possible, as [`Self::shorten_earlier`] does, with
    /// the results of this query that the model has seen. At last, the thoughts of this query are left
    /// out: some models require those of the query that they answer.
    pub(super) fn shorten(&mut self, max_bytes: u64) -> Shortened {
        let length = self.earlier.len();
        let mut has_dropped_kept = self.bytes() > max_bytes && self.drop_earlier_kept();
        let excess = self.bytes().saturating_sub(max_bytes);
        let mut dropped = drop_results(&mut self.earlier, excess);
        let is_turn = |message: &ModelMessage| matches!(message, ModelMessage::Model(_));
        let seen = self.own.iter().rposition(is_turn).unwrap_or(0);
        dropped += drop_results(&mut self.own[..seen], excess.saturating_sub(dropped));
        self.drop_queries(max_bytes.saturating_sub(history_bytes(&self.own)));
        has_dropped_kept |= self.bytes() > max_bytes && drop_kept(&mut self.own[..seen]);
        self.shortened(length, dropped, has_dropped_kept)
    }

    /// Drops the oldest queries until the others have at most this size.
    fn drop_queries(&mut self, max_bytes: u64) {
        let mut bytes = self.earlier_bytes();
        let mut kept_from = 0;
        while bytes > max_bytes && kept_from < self.earlier.len() {
            let rest = &self.earlier[kept_from + 1..];
            let is_question = |message: &ModelMessage| matches!(message, ModelMessage::User(_));
            let next = rest
                .iter()
                .position(is_question)
                .map_or(rest.len(), |it| it);
            let end = kept_from + 1 + next;
            bytes -= history_bytes(&self.earlier[kept_from..end]);
            kept_from = end;
        }
        self.earlier.drain(..kept_from);
    }

    fn shortened(&self, length: usize, dropped: u64, has_dropped_kept: bool) -> Shortened {
        if self.earlier.len() < length {
            Shortened::Queries
        } else if dropped > 0 {
            Shortened::Results
        } else if has_dropped_kept {
            Shortened::Thoughts
        } else {
            Shortened::Nothing
        }
    }
}

/// The part of the history that was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortened {
    Nothing,
    Thoughts,
    Results,
    Queries,
}

impl Shortened {
    /// Returns the note for the person.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            // A person has not seen the thoughts as a part of the conversation.
            Self::Nothing | Self::Thoughts => None,
            Self::Results => Some(
                "The conversation is long: results of earlier calls were left out of what the \
                 model reads",
            ),
            Self::Queries => {
                Some("The conversation is long: its beginning was left out of what the model reads")
            }
        }
    }
}

/// Drops thoughts. Returns whether there were any.
fn drop_kept(messages: &mut [ModelMessage]) -> bool {
    let dropped = messages.iter_mut().map(ModelMessage::drop_kept);
    dropped.fold(false, |any, is_dropped| any | is_dropped)
}

/// Drops results from the oldest on, until this many bytes are saved. Returns how many are.
fn drop_results(messages: &mut [ModelMessage], bytes: u64) -> u64 {
    let mut saved = 0;
    for message in messages {
        let before = history_bytes(std::slice::from_ref(message));
        if saved >= bytes {
            break;
        }
        message.drop_media();
        if let ModelMessage::Results(results) = message {
            for result in results {
                if result.text.len() > DROPPED_RESULT.len() {
                    result.text = DROPPED_RESULT.to_owned();
                    result.notes.clear();
                }
            }
        }
        saved += before.saturating_sub(history_bytes(std::slice::from_ref(message)));
    }
    saved
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Media, UserMessage};

    fn user(text: &str) -> ModelMessage {
        ModelMessage::from_text(text.to_owned())
    }

    fn results(bytes: usize) -> ModelMessage {
        ModelMessage::Results(vec![CallResult {
            id: "a".to_owned(),
            tool: "list".to_owned(),
            text: "x".repeat(bytes),
            notes: String::new(),
            is_error: false,
            media: Vec::new(),
        }])
    }

    fn texts(history: &History<'_>) -> Vec<String> {
        let (messages, _) = history.messages();
        let text = |message| match message {
            ModelMessage::User(user) => user.text,
            ModelMessage::Model(turn) => turn.text,
            ModelMessage::Results(results) => results[0].text.clone(),
        };
        messages.into_iter().map(text).collect()
    }

    #[test]
    fn results_are_dropped_before_queries_and_the_newest_result_stays() {
        let transcript = Transcript::default();
        let earlier = vec![user("1"), results(1000), user("2"), results(1000)];
        let mut history = History::new(earlier, &transcript);
        history.begin(user("3"), None);
        history.push(results(1000));
        history.push(ModelMessage::Model(ModelTurn::default()));
        history.push(results(1000));
        history.push(user("4"));
        let long = "x".repeat(1000);
        assert_eq!(history.shorten(5000), Shortened::Nothing);
        assert_eq!(history.shorten(3500), Shortened::Results);
        assert_eq!(
            texts(&history),
            ["1", DROPPED_RESULT, "2", &long, "3", &long, "", &long, "4"]
        );
        assert_eq!(history.shorten(1300), Shortened::Results);
        let dropped = DROPPED_RESULT;
        assert_eq!(
            texts(&history),
            ["1", dropped, "2", dropped, "3", dropped, "", &long, "4"]
        );
        assert_eq!(history.shorten(1100), Shortened::Queries);
        assert_eq!(texts(&history), ["3", dropped, "", &long, "4"]);
        assert_eq!(history.shorten(1), Shortened::Nothing);
        assert!(Shortened::Nothing.note().is_none());
    }

    /// A turn with thoughts of this size, in the format of its provider.
    fn thoughts(bytes: usize) -> ModelMessage {
        let kept = json!({ "api": "responses", "origin": { "issuer": "i" },
            "blocks": ["t".repeat(bytes)] });
        ModelMessage::Model(ModelTurn {
            text: "I look.".to_owned(),
            kept: Some(serde_json::from_value(kept).unwrap()),
            ..ModelTurn::default()
        })
    }

    /// Returns which turns have thoughts.
    fn with_thoughts(history: &History<'_>) -> Vec<bool> {
        let (messages, _) = history.messages();
        let turns = messages.into_iter().filter_map(|message| match message {
            ModelMessage::Model(turn) => Some(turn.kept.is_some()),
            ModelMessage::User(_) | ModelMessage::Results(_) => None,
        });
        turns.collect()
    }

    #[test]
    fn thoughts_count_and_are_dropped_first_those_of_this_query_last() {
        let transcript = Transcript::default();
        let earlier = vec![user("1"), thoughts(1000), results(1000), thoughts(1000)];
        let mut history = History::new(earlier.clone(), &transcript);
        history.begin(user("2"), None);
        for message in [thoughts(1000), results(1000), thoughts(1000), results(1000)] {
            history.push(message);
        }
        assert!(
            history.earlier_bytes() > 3000,
            "{}",
            history.earlier_bytes()
        );
        assert_eq!(history.shorten_earlier(4000), Shortened::Nothing);
        assert_eq!(history.shorten_earlier(3000), Shortened::Thoughts);
        assert!(Shortened::Thoughts.note().is_none());
        assert_eq!(with_thoughts(&history), [false, false, true, true]);
        let long = "x".repeat(1000);
        assert_eq!(texts(&history)[2], long);
        assert_eq!(history.shorten(4500), Shortened::Results);
        assert_eq!(with_thoughts(&history), [false, false, true, true]);
        assert_eq!(history.shorten(2500), Shortened::Queries);
        assert_eq!(with_thoughts(&history), [false, true]);
        assert_eq!(
            texts(&history).last(),
            Some(&long),
            "the model has not seen it"
        );

        let mut history = History::new(earlier, &transcript);
        history.begin(user("2"), None);
        assert_eq!(history.shorten(3000), Shortened::Thoughts);
        assert!(!history.drop_earlier_kept());
    }

    #[test]
    fn the_model_reads_notes_below_results_and_they_are_stored_apart() {
        let transcript = Transcript::default();
        let mut history = History::new(Vec::new(), &transcript);
        history.begin(user("1"), Some(user("1")));
        history.push(results(3));
        history.change_last_notes(|notes| notes.push_str("[service m] Answer now."));
        assert_eq!(texts(&history), ["1", "xxx\n[service m] Answer now."]);
        let stored = transcript.finish(None).unwrap().messages;
        assert!(
            matches!(&stored[1], ModelMessage::Results(results)
                if results[0].text == "xxx" && results[0].notes == "[service m] Answer now."),
            "{stored:?}"
        );
    }

    #[test]
    fn a_picture_that_is_left_out_is_described() {
        let transcript = Transcript::default();
        let mut history = History::new(Vec::new(), &transcript);
        let picture = Media {
            name: Some("cat.png".to_owned()),
            mime_type: "image/png".to_owned(),
            data: "AAAA".repeat(10_000).into(),
        };
        let asked = ModelMessage::User(UserMessage {
            text: "What is this?".to_owned(),
            media: vec![picture],
        });
        history.begin(asked, None);
        assert_eq!(
            history.shorten(1),
            Shortened::Nothing,
            "the model has not seen it"
        );
        history.push(ModelMessage::Model(ModelTurn::default()));
        assert_eq!(history.shorten(1), Shortened::Results);
        let texts = texts(&history);
        assert!(texts[0].contains("cat.png"), "{texts:?}");
        assert!(texts[0].contains("no longer attached"), "{texts:?}");
    }

    #[test]
    fn earlier_queries_are_dropped_from_the_oldest_on() {
        let transcript = Transcript::default();
        let earlier = vec![user("first"), user("second"), results(60), user("third")];
        let mut history = History::new(earlier, &transcript);
        history.begin(user("4"), None);
        assert_eq!(history.shorten_earlier(1000), Shortened::Nothing);
        assert_eq!(history.shorten_earlier(66), Shortened::Queries);
        assert_eq!(texts(&history), ["second", DROPPED_RESULT, "third", "4"]);
        assert_eq!(history.shorten_earlier(0), Shortened::Queries);
        assert_eq!(texts(&history), ["4"]);
    }
}
