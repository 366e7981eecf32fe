//! The buckets, which any node creates that does not find them.

use std::error::Error;
use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind, KeyValueError,
};
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{Context, ErrorCode};

use super::events::Problem;
use super::settings::NatsSettings;
use crate::record::{DENIALS, NODES, REALMS};

/// How long the record of a realm lasts. Its owner writes it again before.
const REALM_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the record of a denial lasts: longer than any denial, so that a node that was away for long
/// still learns that a denial was ended.
const DENIAL_MAX_AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// How nodes use a bucket.
pub(super) struct BucketUse {
    /// The end of its name.
    pub(super) name: &'static str,
    /// Whether single records are read.
    pub(super) is_read: bool,
    pub(super) is_watched: bool,
}

/// All buckets.
pub(super) const USES: [BucketUse; 3] = [
    BucketUse {
        name: NODES,
        is_read: true,
        is_watched: true,
    },
    BucketUse {
        name: REALMS,
        is_read: true,
        is_watched: false,
    },
    BucketUse {
        name: DENIALS,
        is_read: false,
        is_watched: true,
    },
];

/// Returns the name of the bucket with the records of the nodes.
pub(super) fn nodes_name(settings: &NatsSettings) -> String {
    format!("{}-{NODES}", settings.name)
}

pub(super) struct Buckets {
    pub(super) nodes: Store,
    pub(super) realms: Store,
    pub(super) denials: Store,
}

impl Buckets {
    /// Opens the buckets. Those that are missing are created, and those with other settings are changed.
    pub(super) async fn open(context: &Context, settings: &NatsSettings) -> Result<Self, Problem> {
        let open = async |name: &str, max_age| {
            let bucket = format!("{}-{name}", settings.name);
            open(context, &bucket, max_age, settings.replicas).await
        };
        Ok(Self {
            nodes: open(NODES, settings.lease).await?,
            realms: open(REALMS, REALM_MAX_AGE).await?,
            denials: open(DENIALS, DENIAL_MAX_AGE).await?,
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

async fn open(
    context: &Context,
    bucket: &str,
    max_age: Duration,
    replicas: usize,
) -> Result<Store, Problem> {
    let Some(store) = find(context, bucket).await? else {
        tracing::info!(bucket, "a bucket is created");
        return create(context, bucket, max_age, replicas).await;
    };
    let mut config = store.stream.cached_info().config.clone();
    if (config.max_age, config.num_replicas) == (max_age, replicas) {
        return Ok(store);
    }
    tracing::warn!(
        bucket,
        "the bucket has now the `cluster_replicas` {replicas} and the `cluster_lease` or age {max_age:?} of \
         this bridge, and not {} and {:?}: set the same for all bridges",
        config.num_replicas,
        config.max_age
    );
    (config.max_age, config.num_replicas) = (max_age, replicas);
    // The server chooses it anew: it must not be longer than the age.
    config.duplicate_window = Duration::ZERO;
    let updated = context.update_stream(config).await;
    updated.map_err(|error| stream_problem(bucket, &error))?;
    Ok(store)
}

/// Returns a bucket, if it exists.
pub(super) async fn find(context: &Context, bucket: &str) -> Result<Option<Store>, Problem> {
    match context.get_key_value(bucket).await {
        Ok(store) => Ok(Some(store)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(problem(bucket, &error)),
    }
}

/// Creates a bucket, unless another node does so at the same time.
async fn create(
    context: &Context,
    bucket: &str,
    max_age: Duration,
    replicas: usize,
) -> Result<Store, Problem> {
    let config = Config {
        name: format!("KV_{bucket}"),
        subjects: vec![format!("$KV.{bucket}.>")],
        max_messages_per_subject: 1,
        max_age,
        storage: StorageType::File,
        num_replicas: replicas,
        first_sequence: Some(first_revision()),
        // These make a stream a bucket.
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    };
    let is_taken = |kind: &CreateStreamErrorKind| {
        matches!(kind, CreateStreamErrorKind::JetStream(error)
            if error.error_code() == ErrorCode::STREAM_NAME_EXIST)
    };
    match context.create_stream(config).await {
        Err(error) if !is_taken(&error.kind()) => return Err(stream_problem(bucket, &error)),
        Ok(_) | Err(_) => {}
    }
    let created = context.get_key_value(bucket).await;
    created.map_err(|error| problem(bucket, &error))
}

/// Returns the first revision of a new bucket: the time in microseconds. A write at a revision of an earlier
/// bucket, which was lost, therefore never changes a record in this one, and records in this one are newer
/// than all that a node remembers.
fn first_revision() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_micros()).unwrap_or(1)
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

/// Returns why a bucket cannot be created or changed.
fn stream_problem(bucket: &str, error: &CreateStreamError) -> Problem {
    match error.kind() {
        CreateStreamErrorKind::JetStream(cause) if is_short_of_servers(cause.error_code()) => {
            Problem::Refused(format!(
                "the bucket {bucket} cannot be on as many servers as `cluster_replicas` says: join the \
                 servers with `cluster` in nats.conf, or set fewer ({error})"
            ))
        }
        _ => problem(bucket, error),
    }
}

fn is_short_of_servers(code: ErrorCode) -> bool {
    [
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED,
        ErrorCode::CLUSTER_NO_PEERS,
    ]
    .contains(&code)
}

fn problem(bucket: &str, error: &impl Display) -> Problem {
    Problem::Failed(format!(
        "the bucket {bucket} of NATS cannot be opened: {error}"
    ))
}
