//! The buckets, which any node creates that does not find them.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind, KeyValueError};
use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::stream::StorageType;
use async_nats::jetstream::{Context, ErrorCode};

use super::events::Problem;
use super::settings::NatsSettings;

/// How long the record of a realm lasts. Its owner writes it again before.
const REALM_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the record of a denial lasts: longer than any denial. So a node that was away for long still
/// learns that a denial was ended.
const DENIAL_MAX_AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);

pub(super) struct Buckets {
    pub(super) nodes: Store,
    pub(super) realms: Store,
    pub(super) denials: Store,
}

impl Buckets {
    /// Opens the buckets. Those that are missing are created, and those with other settings are changed.
    pub(super) async fn open(context: &Context, settings: &NatsSettings) -> Result<Self, Problem> {
        let bucket = |name: &str, max_age| Config {
            bucket: format!("{}-{name}", settings.name),
            history: 1,
            max_age,
            storage: StorageType::File,
            num_replicas: settings.replicas,
            ..Config::default()
        };
        Ok(Self {
            nodes: open(context, bucket("nodes", settings.lease)).await?,
            realms: open(context, bucket("realms", REALM_MAX_AGE)).await?,
            denials: open(context, bucket("denied", DENIAL_MAX_AGE)).await?,
        })
    }

    /// Returns whether a bucket has been removed, or created anew by another node.
    pub(super) async fn are_lost(&self, context: &Context) -> bool {
        for store in [&self.nodes, &self.realms, &self.denials] {
            let is_lost = match context.get_stream(&store.stream_name).await {
                Ok(stream) => stream.cached_info().created != store.stream.cached_info().created,
                Err(error) => is_not_found(&error.kind()),
            };
            if is_lost {
                return true;
            }
        }
        false
    }
}

async fn open(context: &Context, config: Config) -> Result<Store, Problem> {
    let name = config.bucket.clone();
    let store = match context.get_key_value(&name).await {
        Ok(store) => store,
        Err(error) if is_missing(&error) => {
            tracing::info!(bucket = name, "a bucket is created");
            let created = context.create_key_value(config).await;
            return created.map_err(|error| problem(&name, &error));
        }
        Err(error) => return Err(problem(&name, &error)),
    };
    let stored = &store.stream.cached_info().config;
    if (stored.max_age, stored.num_replicas) == (config.max_age, config.num_replicas) {
        return Ok(store);
    }
    tracing::info!(bucket = name, "the settings of a bucket are changed");
    let updated = context.update_key_value(config).await;
    updated.map_err(|error| problem(&name, &error))
}

/// Returns whether the server has answered that the bucket does not exist.
fn is_missing(error: &KeyValueError) -> bool {
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<GetStreamError>());
    source.is_some_and(|error| is_not_found(&error.kind()))
}

fn is_not_found(kind: &GetStreamErrorKind) -> bool {
    matches!(kind, GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

fn problem(bucket: &str, error: &impl Display) -> Problem {
    Problem::Failed(format!(
        "the bucket {bucket} of NATS cannot be opened: {error}"
    ))
}
