//! The input and the output of encoding a turn.

use super::provider_request::ProviderRequest;
use crate::mock_provider::script::{Fault, Step, Turn};

/// The input for the encoding of a turn.
pub(in crate::mock_provider) struct TurnContext<'a> {
    pub(in crate::mock_provider) request: &'a ProviderRequest<'a>,
    pub(in crate::mock_provider) turn: &'a Turn,
    /// The fault of this attempt.
    pub(in crate::mock_provider) fault: Option<&'a Fault>,
    /// The number of the turn in its query, from 0.
    pub(in crate::mock_provider) number: usize,
    pub(in crate::mock_provider) steps: &'a [Step],
}

/// An encoded turn.
#[derive(Debug, Default)]
pub(in crate::mock_provider) struct TurnFrames {
    pub(in crate::mock_provider) opening: Vec<String>,
    /// The frames of each step; a step may have none.
    pub(in crate::mock_provider) steps: Vec<Vec<String>>,
    pub(in crate::mock_provider) closing: Vec<String>,
}
