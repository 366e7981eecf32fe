//! All sources of an agent, with the state that its queries share.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use agent_secrets::SecretStore;
use bridge_edge::ResourceUsage;
use futures_util::future::join_all;

use crate::audit::AuditLog;
use crate::managed_source::ManagedSource;
use crate::metrics::Metrics;
use crate::offered_name::{hashed_name, offered_name};
use crate::offered_tool::OfferedTool;
use crate::profile::ToolProfile;
use crate::source::{SourceState, SourceTool, ToolSource};
use crate::user_shares::UserShares;

/// The limits of the calls of each source.
#[derive(Clone, Copy, Debug)]
pub struct SourceLimits {
    /// The maximum number of calls of a source that run at the same time.
    pub max_calls: usize,
    /// How many of them may be those of one user.
    pub max_calls_per_user: usize,
}

/// Where calls are recorded.
#[derive(Debug)]
pub struct Records {
    /// The audit file, if there is one.
    pub audit: AuditLog,
    /// The metrics of the agent.
    pub metrics: Arc<Metrics>,
    /// The secrets that no record and no result has.
    pub secrets: Option<Arc<SecretStore>>,
}

/// A source that is configured and not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedSource {
    pub(crate) name: String,
    /// The problem; `None` if the operator has disabled the source.
    pub(crate) problem: Option<String>,
}

/// The sources of an agent.
#[derive(Debug)]
pub struct Sources {
    sources: Vec<Arc<ManagedSource>>,
    pub(super) unused: Vec<UnusedSource>,
    pub(super) profiles: Vec<Arc<ToolProfile>>,
    pub(super) records: Records,
    offered: Mutex<OfferedTools>,
}

/// The tools of all sources, until a source has other tools.
#[derive(Debug, Default)]
struct OfferedTools {
    /// The lists of which `tools` is made.
    lists: Vec<Arc<[SourceTool]>>,
    tools: Arc<[Arc<OfferedTool>]>,
}

impl Sources {
    /// Creates the sources, none of which is started. The error names two sources whose names
    /// conflict.
    pub fn new(
        sources: Vec<Arc<dyn ToolSource>>,
        unused: Vec<UnusedSource>,
        profiles: Vec<ToolProfile>,
        limits: SourceLimits,
        records: Records,
    ) -> Result<Self, String> {
        check_names(&sources)?;
        let shares = || UserShares::new(limits.max_calls, limits.max_calls_per_user);
        let sources = sources.into_iter();
        Ok(Self {
            sources: sources
                .map(|source| Arc::new(ManagedSource::new(source, shares())))
                .collect(),
            unused,
            profiles: profiles.into_iter().map(Arc::new).collect(),
            records,
            offered: Mutex::default(),
        })
    }

    pub(super) fn all(&self) -> &[Arc<ManagedSource>] {
        &self.sources
    }

    /// Returns the tools of all sources. Their names are the same for every profile.
    pub fn offered(&self) -> Arc<[Arc<OfferedTool>]> {
        let lists: Vec<_> = self.sources.iter().map(|it| it.source.tools()).collect();
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = offered.lists.len() == lists.len()
            && offered
                .lists
                .iter()
                .zip(&lists)
                .all(|(a, b)| Arc::ptr_eq(a, b));
        if !is_current {
            offered.tools = self.name_tools(&lists).into();
            offered.lists = lists;
            for profile in &self.profiles {
                if let Some(warning) = definitions_warning(profile, &offered.tools) {
                    tracing::warn!("{warning}");
                }
            }
        }
        Arc::clone(&offered.tools)
    }

    fn name_tools(&self, lists: &[Arc<[SourceTool]>]) -> Vec<Arc<OfferedTool>> {
        let mut names = HashSet::new();
        let mut offered = Vec::new();
        for (source, tools) in self.sources.iter().zip(lists) {
            let mut listed = HashSet::new();
            // A source that lists a name twice has one tool with it.
            for tool in tools.iter().filter(|tool| listed.insert(&tool.name)) {
                let mut name = offered_name(source.name(), &tool.name);
                if names.contains(&name) {
                    name = hashed_name(source.name(), &tool.name);
                }
                if names.insert(name.clone()) {
                    offered.push(Arc::new(OfferedTool {
                        name,
                        full_name: format!("{}-{}", source.name(), tool.name),
                        tool: tool.clone(),
                        source: Arc::clone(source),
                    }));
                }
            }
        }
        offered
    }

    #[cfg(test)]
    pub(super) fn definitions_warning(
        &self,
        profile: usize,
        offered: &[Arc<OfferedTool>],
    ) -> Option<String> {
        definitions_warning(&self.profiles[profile], offered)
    }

    /// Returns warnings about patterns of profiles that match none of the tools that are known.
    pub fn pattern_warnings(&self) -> Vec<String> {
        let offered = self.offered();
        let tools: Vec<_> = offered.iter().map(|it| it.full_name.as_str()).collect();
        let is_unknown = |it: &&Arc<ManagedSource>| !it.source.has_known_tools();
        let unknown = self.sources.iter().filter(is_unknown).map(|it| it.name());
        let unused = self.unused.iter().map(|it| it.name.as_str());
        let unknown: Vec<_> = unknown.chain(unused).collect();
        let profiles = self.profiles.iter();
        profiles
            .flat_map(|it| it.pattern_warnings(&tools, &unknown))
            .collect()
    }

    /// Sets the metrics of the states of all sources, also of those that are not used, and of what the
    /// processes of sources use.
    pub fn update_metrics(&self) {
        // A reload may have removed sources, and processes end.
        self.records.metrics.clear_sources();
        for it in &self.sources {
            if let Some(usage) = ResourceUsage::of_trees(&it.source.process_ids()) {
                self.records.metrics.set_source_usage(it.name(), usage);
            }
        }
        let sources = self.sources.iter().map(|it| (it.name(), it.state()));
        let unused = self
            .unused
            .iter()
            .map(|it| (it.name.as_str(), SourceState::Off));
        for (name, current) in sources.chain(unused) {
            for state in SourceState::ALL {
                let metrics = &self.records.metrics;
                metrics.set_source_state(name, state.name(), state == current);
            }
        }
    }

    /// Stops all sources, and writes the rest of the audit file.
    pub async fn stop(&self) {
        join_all(self.sources.iter().map(|it| it.source.stop())).await;
        self.records.audit.close().await;
    }
}

/// Checks that no tool of a source can have the name of one of another source: patterns could allow one
/// and mean the other.
fn check_names(sources: &[Arc<dyn ToolSource>]) -> Result<(), String> {
    for source in sources {
        let name = &source.meta().name;
        let begins_with_it = |other: &&Arc<dyn ToolSource>| {
            let other = &other.meta().name;
            other.starts_with(&format!("{name}-"))
        };
        let is_same = |other: &&Arc<dyn ToolSource>| {
            !Arc::ptr_eq(other, source) && other.meta().name.eq_ignore_ascii_case(name)
        };
        if let Some(other) = sources.iter().find(begins_with_it) {
            let other = &other.meta().name;
            return Err(format!(
                "the source `{other}` has a name that begins with `{name}-`, which is how the names \
                 of the tools of `{name}` begin: rename one of them"
            ));
        }
        if let Some(other) = sources.iter().find(is_same) {
            let other = &other.meta().name;
            return Err(format!(
                "the names of the sources `{name}` and `{other}` differ at most in case: rename one \
                 of them"
            ));
        }
    }
    Ok(())
}

/// Returns a warning if the definitions of the tools that a profile allows are long. Every turn of
/// every query sends them.
fn definitions_warning(profile: &ToolProfile, offered: &[Arc<OfferedTool>]) -> Option<String> {
    let allowed = offered.iter().filter(|it| profile.allows(it));
    let mut bytes = BTreeMap::new();
    for tool in allowed {
        *bytes.entry(tool.source_name()).or_insert(0) += tool.definition_bytes();
    }
    let all: usize = bytes.values().sum();
    let (largest, most) = bytes.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    (all > MAX_QUIET_DEFINITION_BYTES).then(|| {
        format!(
            "the profile `{}` has {all} bytes of definitions of tools, which every turn of its \
             queries sends: `{largest}` alone has {most}. Allow fewer tools",
            profile.name
        )
    })
}

/// The size of the definitions of a profile from which on a warning is logged, in bytes.
const MAX_QUIET_DEFINITION_BYTES: usize = 32 * 1024;
