//! The state of a query that the task of the query sees, also when the query was cancelled.

use std::sync::{Mutex, PoisonError};

use super::added_prompt::AddedPrompt;
use super::attachments::MediaFilter;
use super::call_activity::CallActivity;
use super::call_results::CallResults;
use super::client_result::ClientResult;
use super::open_calls::OpenCalls;
use super::shared_state::SharedState;
use super::transcript::Transcript;
use super::usage_meter::UsageMeter;

/// The state of a query while it is answered.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) meter: UsageMeter,
    /// The calls that wait for the approval of a person.
    pub(crate) approvals: OpenCalls<bool>,
    pub(super) media: MediaFilter,
    pub(crate) transcript: Transcript,
    /// The calls that the client makes itself.
    pub(crate) client_calls: OpenCalls<ClientResult>,
    pub(crate) activity: CallActivity,
    pub(crate) results: CallResults,
    pub(crate) shared: SharedState,
    /// Messages that the person sent while the query waited for the client.
    added_prompts: Mutex<Vec<AddedPrompt>>,
}

impl QueryState {
    /// Starts the time of a query.
    pub(crate) fn new() -> Self {
        Self {
            meter: UsageMeter::start(),
            approvals: OpenCalls::default(),
            media: MediaFilter::default(),
            transcript: Transcript::default(),
            client_calls: OpenCalls::default(),
            activity: CallActivity::default(),
            results: CallResults::default(),
            shared: SharedState::default(),
            added_prompts: Mutex::default(),
        }
    }

    /// Adds a prompt, unless it is empty. The model receives it after the results of the calls that
    /// are open.
    pub(crate) fn add_prompt(&self, prompt: AddedPrompt) {
        if !prompt.is_empty() {
            let prompts = self.added_prompts.lock();
            prompts.unwrap_or_else(PoisonError::into_inner).push(prompt);
        }
    }

    pub(super) fn take_added_prompts(&self) -> Vec<AddedPrompt> {
        let prompts = self.added_prompts.lock();
        std::mem::take(&mut prompts.unwrap_or_else(PoisonError::into_inner))
    }
}
