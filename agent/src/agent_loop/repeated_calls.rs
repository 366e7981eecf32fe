//! Notices a model that makes the same call again and again.

use super::indexed_call::IndexedCall;
use crate::model::{CallResult, ModelCall};

/// The number of equal calls in a row from which the model gets a note with the result.
const NOTED_FROM: usize = 3;

/// Maximum number of equal calls in a row to a tool that may change something, once the model has read a
/// note. A person who wants more asks again.
const MAX_EQUAL: usize = 10;

/// Counts equal calls in a row. Their results do not matter: a tool that adds something returns a new id
/// each time.
#[derive(Debug, Default)]
pub(super) struct RepeatedCalls(Option<EqualCalls>);

/// Equal calls in a row.
#[derive(Debug)]
struct EqualCalls {
    call: ModelCall,
    count: usize,
    last_result: CallResult,
    has_equal_results: bool,
}

impl RepeatedCalls {
    /// Returns the reason why a call of a tool that may change something is not made, if it was made too
    /// often. `granted` are the calls of the turn that are made before it.
    pub(super) fn refusal(&self, call: &ModelCall, granted: &[IndexedCall<'_>]) -> Option<String> {
        // A row without a note is shorter, and the notes of this turn were not read.
        let noted = self.0.as_ref().filter(|row| row.count >= NOTED_FROM)?;
        let calls = granted.iter().map(|it| it.call).chain([&noted.call]);
        let is_same_row = calls.into_iter().all(|it| is_same_call(it, call));
        let count = noted.count + granted.len();
        (is_same_row && count >= MAX_EQUAL).then(|| {
            format!(
                "this call was made {count} times in a row, with the same arguments. Answer now, and \
                 say what was done."
            )
        })
    }

    /// Counts a call that was made. Returns a note for the model below its result.
    pub(super) fn record(&mut self, call: &ModelCall, result: &CallResult) -> Option<String> {
        let row = self.0.take().filter(|row| is_same_call(&row.call, call));
        let row = match row {
            Some(row) => EqualCalls {
                count: row.count + 1,
                has_equal_results: row.has_equal_results
                    && is_same_result(&row.last_result, result),
                last_result: result.clone(),
                ..row
            },
            None => EqualCalls {
                call: call.clone(),
                count: 1,
                last_result: result.clone(),
                has_equal_results: true,
            },
        };
        let EqualCalls { count, .. } = row;
        let results = if row.has_equal_results {
            "The results are the same."
        } else {
            "The results differ."
        };
        self.0 = Some(row);
        (count >= NOTED_FROM).then(|| {
            format!(
                "You have now made this call {count} times in a row, with the same arguments. {results} \
                 Make it again only if the request needs it; otherwise answer."
            )
        })
    }
}

fn is_same_call(one: &ModelCall, other: &ModelCall) -> bool {
    one.tool == other.tool && one.arguments == other.arguments && one.unreadable == other.unreadable
}

fn is_same_result(one: &CallResult, other: &CallResult) -> bool {
    one.text == other.text && one.is_error == other.is_error && one.media == other.media
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(tool: &str, argument: u32) -> ModelCall {
        ModelCall {
            id: "1".to_owned(),
            tool: tool.to_owned(),
            arguments: json!({ "a": argument }).as_object().unwrap().clone(),
            unreadable: None,
        }
    }

    /// Makes the calls of a turn, except those that are refused. Returns the notes of those that are made.
    fn turn(
        repeated: &mut RepeatedCalls,
        calls: &[ModelCall],
        result: &str,
    ) -> Vec<Option<String>> {
        let mut granted = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            if repeated.refusal(call, &granted).is_none() {
                let number = index + 1;
                granted.push(IndexedCall {
                    index,
                    number,
                    call,
                });
            }
        }
        let results = granted.into_iter().map(|it| {
            let result = CallResult::new(it.call, result.to_owned(), false);
            repeated.record(it.call, &result)
        });
        results.collect()
    }

    #[test]
    fn equal_calls_get_notes_and_are_then_refused_whatever_their_results() {
        for (has_new_ids, part) in [(true, "The results differ."), (false, "are the same.")] {
            let mut repeated = RepeatedCalls::default();
            let mut add = |number: usize| {
                let id = if has_new_ids { number } else { 0 };
                turn(&mut repeated, &[call("add", 1)], &format!("added {id}"))
            };
            for made in 1..=MAX_EQUAL {
                let notes = add(made);
                assert_eq!(notes.len(), 1, "{made}");
                assert_eq!(notes[0].is_some(), made >= NOTED_FROM, "{made}");
                assert!(notes[0].iter().all(|it| it.contains(part)), "{notes:?}");
            }
            assert_eq!([add(11), add(12)], [[], []]);
            let other = turn(&mut repeated, &[call("list", 1)], "one");
            assert_eq!(other, [None]);
            let again = turn(&mut repeated, &[call("add", 1)], "added");
            assert_eq!(again, [None], "a new row");
        }
    }

    #[test]
    fn calls_of_one_turn_count_and_are_refused_only_after_a_note_was_read() {
        let adds = |count| vec![call("add", 1); count];
        for (turns, made) in [
            (&[15, 15][..], &[15, 0][..]),
            (&[2, 20, 1], &[2, 20, 0]),
            (&[3, 20, 1], &[3, 7, 0]),
            (&[9, 1, 1], &[9, 1, 0]),
        ] {
            let mut repeated = RepeatedCalls::default();
            let counts = turns
                .iter()
                .map(|count| turn(&mut repeated, &adds(*count), "added").len());
            assert_eq!(counts.collect::<Vec<_>>(), made, "{turns:?}");
        }
        let mut repeated = RepeatedCalls::default();
        let notes = turn(&mut repeated, &adds(4), "added");
        let expected = [false, false, true, true];
        assert_eq!(
            notes.iter().map(Option::is_some).collect::<Vec<_>>(),
            expected
        );
        // Another call ends the row, also within a turn.
        let mut mixed = adds(1);
        mixed.push(call("list", 1));
        mixed.extend(adds(MAX_EQUAL));
        assert_eq!(turn(&mut repeated, &mixed, "added").len(), MAX_EQUAL + 2);
    }

    #[test]
    fn any_difference_of_the_calls_begins_a_new_row() {
        let mut repeated = RepeatedCalls::default();
        let unreadable = ModelCall {
            unreadable: Some("it is not JSON".to_owned()),
            ..call("add", 1)
        };
        turn(
            &mut repeated,
            &vec![call("add", 1); NOTED_FROM - 1],
            "added",
        );
        for other in [call("add", 2), call("list", 1), unreadable, call("add", 1)] {
            let notes = turn(&mut repeated, &[other], "added");
            assert_eq!(notes, [None]);
        }
    }

    #[test]
    fn any_difference_of_the_results_is_in_the_note() {
        for (is_error, media) in [(true, None), (false, Some("AAAA"))] {
            let mut repeated = RepeatedCalls::default();
            turn(
                &mut repeated,
                &vec![call("add", 1); NOTED_FROM - 1],
                "added",
            );
            let mut result = CallResult::new(&call("add", 1), "added".to_owned(), is_error);
            result.media.extend(media.map(|data| crate::model::Media {
                name: None,
                mime_type: "image/png".to_owned(),
                data: data.into(),
            }));
            let note = repeated.record(&call("add", 1), &result).unwrap();
            assert!(note.contains("differ"), "{note}");
        }
    }
}
