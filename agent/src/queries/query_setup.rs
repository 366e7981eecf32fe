//! The setup with which queries are answered, beside the model of the agent: sources with their profiles, and prompts.
//! It can be replaced while the agent runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_tools::{SourceAccess, Sources};
use arc_swap::ArcSwap;
use bridge_edge::TokenHash;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::agent_loop::SystemPrompts;
use crate::config::Config;
use crate::model::Model;

/// The sources, profiles and prompts of queries. A query uses one setup from its beginning to its end.
#[derive(Debug)]
pub(crate) struct QuerySetup {
    pub(super) system_prompts: SystemPrompts,
    /// The models of profiles that name one, by the name of the profile.
    profile_models: HashMap<String, Arc<dyn Model>>,
    pub(super) sources: Arc<Sources>,
    source: SetupSource,
    /// The queries that use it.
    queries: TaskTracker,
}

/// The settings and files that a setup is made of, to know whether they have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetupSource {
    system: Option<String>,
    /// `max_source_calls`, and `max_source_calls_per_user`.
    limits: [usize; 2],
    files: Vec<(PathBuf, Option<TokenHash>)>,
}

impl SetupSource {
    /// Reads the files that the settings name.
    pub(crate) fn load(config: &Config) -> Self {
        let mut source = Self {
            system: config.system.clone(),
            limits: [config.max_source_calls, config.max_source_calls_per_user],
            files: Vec::new(),
        };
        let files = [&config.tools_file, &config.system_file];
        for path in files.into_iter().flatten() {
            source.add_file(path);
        }
        source
    }

    /// Adds a file that another one names.
    pub(crate) fn add_file(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).ok();
        let hash = text.map(|text| TokenHash::from_token(&text));
        self.files.push((path.to_owned(), hash));
    }

    /// The files as they are now, with the same settings.
    pub(crate) fn reload(&self, config: &Config) -> Self {
        let mut source = Self::load(config);
        let named = self.files.iter().map(|(path, _)| path);
        for path in named.skip(source.files.len()) {
            source.add_file(path);
        }
        source
    }
}

impl QuerySetup {
    pub(crate) fn new(
        sources: Sources,
        system_prompts: SystemPrompts,
        profile_models: HashMap<String, Arc<dyn Model>>,
        source: SetupSource,
    ) -> Self {
        Self {
            system_prompts,
            profile_models,
            sources: Arc::new(sources),
            source,
            queries: TaskTracker::new(),
        }
    }

    /// Returns what queries without sources are answered with.
    #[cfg(test)]
    pub(super) fn for_test() -> Self {
        Self {
            system_prompts: SystemPrompts::new(None, std::iter::empty()),
            profile_models: HashMap::new(),
            sources: agent_tools::testing::sources("", Vec::new()),
            source: SetupSource::load(&Config::default()),
            queries: TaskTracker::new(),
        }
    }

    /// The settings and files that it was made of.
    pub(crate) fn source(&self) -> &SetupSource {
        &self.source
    }

    /// The paths of the files that it was made of.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.source.files.iter().map(|(path, _)| path.clone())
    }

    /// Returns the model that answers a query with these sources, which is that of the agent unless its
    /// profile names one.
    pub(super) fn model_for(
        &self,
        sources: &SourceAccess,
        model_of_agent: &Arc<dyn Model>,
    ) -> Arc<dyn Model> {
        let of_profile = profile_name(sources).and_then(|name| self.profile_models.get(name));
        Arc::clone(of_profile.unwrap_or(model_of_agent))
    }

    /// Stops the sources of a setup that was replaced, when the queries that use them have ended.
    pub(super) async fn stop_after_queries(&self) {
        self.queries.close();
        self.queries.wait().await;
        self.sources.stop().await;
    }
}

pub(super) fn profile_name(sources: &SourceAccess) -> Option<&str> {
    sources.profile().map(|profile| profile.name.as_str())
}

/// A setup that a query uses. Its sources are not stopped before this is dropped.
pub(super) struct UsedSetup {
    pub(super) setup: Arc<QuerySetup>,
    _query: TaskTrackerToken,
}

impl UsedSetup {
    /// Returns the current setup, for one query.
    pub(super) fn of(current: &ArcSwap<QuerySetup>) -> Self {
        loop {
            let setup = current.load_full();
            let _query = setup.queries.token();
            // Otherwise it was replaced, and its sources may have been stopped before the query counted.
            if Arc::ptr_eq(&setup, &current.load()) {
                return Self { setup, _query };
            }
        }
    }
}
