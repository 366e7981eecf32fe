//! The calls that come back to servers that check the reasoning before them.

/// The calls that the server has issued after reasoning: their ids, and the reasoning.
#[derive(Debug, Default)]
pub(crate) struct IssuedCalls(Vec<(String, String)>);

impl IssuedCalls {
    /// Adds a call.
    pub(crate) fn add(&mut self, id: &str, reasoning: &str) {
        self.0.push((id.to_owned(), reasoning.to_owned()));
    }

    /// Returns the reasoning before a call.
    pub(super) fn reasoning(&self, id: &str) -> Option<&str> {
        let mut calls = self.0.iter();
        let call = calls.find(|(call, _)| call == id);
        call.map(|(_, reasoning)| reasoning.as_str())
    }
}
