//! The use of the runs of a query: tokens.

use bridge_protocol::QueryUsage;

use super::events::ModelUsage;

/// The use of a query, and the part of it that belongs to the run.
#[derive(Debug, Default)]
pub(super) struct RunUsage {
    of_query: QueryUsage,
    /// The use of the query when the run began.
    of_former_runs: QueryUsage,
}

impl RunUsage {
    /// Begins another run of the query.
    pub(super) fn begin_run(&mut self) {
        self.of_former_runs = self.of_query.clone();
    }

    /// Sets what the query has used so far.
    pub(super) fn update(&mut self, usage: QueryUsage) {
        self.of_query = usage;
    }

    /// Returns what the run has used, by model.
    pub(super) fn of_run(&self) -> Vec<ModelUsage> {
        let models = self.of_query.models.iter().map(|(model, tokens)| {
            let former = self.of_former_runs.models.get(model);
            let former = former.copied().unwrap_or_default();
            let input_tokens = tokens.input - former.input;
            let output_tokens = tokens.output - former.output;
            ModelUsage {
                model: model.clone(),
                input_tokens,
                output_tokens,
                total_tokens: input_tokens + output_tokens,
                reasoning_tokens: reported(tokens.thinking - former.thinking),
                cached_input_tokens: reported(tokens.cached - former.cached),
            }
        });
        models.filter(|usage| usage.total_tokens > 0).collect()
    }
}

/// Returns a count, unless it is 0: providers that do not report it are also counted as 0.
fn reported(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}
