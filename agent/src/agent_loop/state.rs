//! The state of a query that the task of the query sees, also when the query was cancelled.

use std::sync::{Mutex, PoisonError};

use super::approvals::Approvals;
use super::attachments::MediaFilter;
use super::call_activity::CallActivity;
use super::client_calls::ClientCalls;
use super::shared_state::SharedState;
use super::transcript::Transcript;
use super::usage_meter::UsageMeter;

/// The state of a query while it is answered.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) meter: UsageMeter,
    pub(crate) approvals: Approvals,
    pub(super) media: MediaFilter,
    pub(crate) transcript: Transcript,
    pub(crate) client_calls: ClientCalls,
    pub(crate) activity: CallActivity,
    pub(crate) shared: SharedState,
    /// What the person has said while the query waited for the client.
    added_prompts: Mutex<Vec<String>>,
}

impl QueryState {
    /// Starts the time of a query.
    pub(crate) fn new() -> Self {
        Self {
            meter: UsageMeter::start(),
            approvals: Approvals::default(),
            media: MediaFilter::default(),
            transcript: Transcript::default(),
            client_calls: ClientCalls::default(),
            activity: CallActivity::default(),
            shared: SharedState::default(),
            added_prompts: Mutex::default(),
        }
    }

    /// Adds a prompt, which the model receives after the results of the calls that are open.
    pub(crate) fn add_prompt(&self, prompt: String) {
        let prompts = self.added_prompts.lock();
        prompts.unwrap_or_else(PoisonError::into_inner).push(prompt);
    }

    pub(super) fn take_added_prompts(&self) -> Vec<String> {
        let prompts = self.added_prompts.lock();
        std::mem::take(&mut prompts.unwrap_or_else(PoisonError::into_inner))
    }
}
