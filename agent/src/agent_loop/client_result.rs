//! The result of a call that the client makes itself, with one of its tools.

use crate::model::Media;

/// The result of a call that the client has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// The pictures in the result, which `text` describes.
    pub(crate) pictures: Vec<Media>,
}

impl ClientResult {
    /// The result of a call that the client leaves open although the query continues.
    pub(crate) fn not_made() -> Self {
        Self {
            text: "The app has not made this call: the person has continued.".to_owned(),
            is_error: true,
            pictures: Vec::new(),
        }
    }
}
