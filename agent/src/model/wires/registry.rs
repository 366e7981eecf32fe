//! The wire of each API.

use super::{Wire, anthropic, chat, gemini, responses};
use crate::model::api::Api;

/// Returns the wire of an API.
pub(in crate::model) fn wire(api: Api) -> &'static dyn Wire {
    match api {
        Api::Messages => &anthropic::Messages,
        Api::Responses => &responses::Responses,
        Api::ChatCompletions => &chat::ChatCompletions,
        Api::Gemini => &gemini::Gemini,
    }
}
