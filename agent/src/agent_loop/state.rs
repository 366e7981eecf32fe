//! The state of a query that the task of the query sees, also when the query was cancelled.

use super::approvals::Approvals;
use super::attachments::MediaFilter;
use super::transcript::Transcript;
use super::usage_meter::UsageMeter;

/// The state of a query while it is answered.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) meter: UsageMeter,
    pub(crate) approvals: Approvals,
    pub(super) media: MediaFilter,
    pub(crate) transcript: Transcript,
}

impl QueryState {
    /// Starts the time of a query.
    pub(crate) fn new() -> Self {
        Self {
            meter: UsageMeter::start(),
            approvals: Approvals::default(),
            media: MediaFilter::default(),
            transcript: Transcript::default(),
        }
    }
}
