//! The limits that all clients share and that follow from the host, unless they are set: one that is
//! too low refuses users while the machine idles, and one that is too high ends the bridge.
//!
//! | limit | memory of one | of `max_memory_bytes` | at most |
//! |---|---|---|---|
//! | `max_connections` | 64 KiB: a head, an `authenticate` message or a stream | 1/2 | 7/8 of the hard limit of open files |
//! | `max_pending_pages` | that of its connection | | 1/2 of `max_connections` |
//! | `max_realms` | 16 KiB: a page with its outbox | 1/8 | `max_connections` |
//! | `max_catalogues` | 2 × 8 KiB: a token with closed apps, and one with former sessions | 1/8 | |
//! | `max_mcp_sessions` | 16 KiB: a session with its stream | 1/8 | |
//! | bytes of verified signed tokens | | 1/32 | |
//!
//! This memory is not part of `max_memory_bytes`, which counts requests, messages, definitions and
//! results. All together use at most 29/32 as much, which the other half of the machine has. The costs
//! are rounded up from those in `docs/benchmarks.md`.

use super::host::HostResources;

const KIB: usize = 1024;

/// The part of the open files that is not for connections: the agent, the log, the state.
const RESERVED_FILES_DIVISOR: u64 = 8;

/// The smallest limit that is derived, so that a bridge is usable on any host.
const MIN_DERIVED: usize = 64;

/// The limits that all clients share, and that a configuration may leave to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedLimits {
    pub(crate) connections: usize,
    pub(crate) pending_pages: usize,
    pub(crate) realms: usize,
    pub(crate) catalogues: usize,
    pub(crate) mcp_sessions: usize,
    pub(crate) token_cache_bytes: usize,
}

/// Cost of one entry of a limit, and the part of `max_memory_bytes` that all of them may cost.
#[derive(Clone, Copy, Debug)]
struct EntryCost {
    bytes: usize,
    divisor: usize,
}

const CONNECTION: EntryCost = EntryCost::new(64, 2);
const REALM: EntryCost = EntryCost::new(16, 8);
/// The limit counts for tokens with closed apps, and once more for those with former sessions only.
const CATALOGUE: EntryCost = EntryCost::new(2 * 8, 8);
const MCP_SESSION: EntryCost = EntryCost::new(16, 8);

/// The part of `max_memory_bytes` that verified signed tokens may take beside it. With a GiB, that is
/// enough for the tokens of 10,000 users.
const TOKEN_CACHE_DIVISOR: usize = 32;

impl EntryCost {
    const fn new(kib: usize, divisor: usize) -> Self {
        let bytes = kib * KIB;
        Self { bytes, divisor }
    }

    /// Returns how many entries fit into the memory.
    fn fit_into(self, max_memory_bytes: usize) -> usize {
        (max_memory_bytes / self.divisor / self.bytes).max(MIN_DERIVED)
    }
}

/// The limits that a configuration sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConfiguredLimits {
    pub(super) connections: Option<usize>,
    pub(super) pending_pages: Option<usize>,
    pub(super) realms: Option<usize>,
    pub(super) catalogues: Option<usize>,
    pub(super) mcp_sessions: Option<usize>,
}

impl SharedLimits {
    /// Returns the limits that are set, and derives the others from the memory and from the host.
    pub(super) fn new(
        configured: ConfiguredLimits,
        max_memory_bytes: usize,
        host: &HostResources,
    ) -> Self {
        let fit = |cost: EntryCost| cost.fit_into(max_memory_bytes);
        let connections = configured
            .connections
            .unwrap_or_else(|| fit(CONNECTION).min(max_open_connections(host)));
        Self {
            connections,
            pending_pages: configured
                .pending_pages
                .unwrap_or_else(|| (connections / 2).max(1)),
            realms: configured
                .realms
                .unwrap_or_else(|| fit(REALM).min(connections)),
            catalogues: configured.catalogues.unwrap_or_else(|| fit(CATALOGUE)),
            mcp_sessions: configured.mcp_sessions.unwrap_or_else(|| fit(MCP_SESSION)),
            token_cache_bytes: max_memory_bytes / TOKEN_CACHE_DIVISOR,
        }
    }

    /// The memory that all entries and verified tokens together cost, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let costs = [
            (self.connections, CONNECTION),
            (self.realms, REALM),
            (self.catalogues, CATALOGUE),
            (self.mcp_sessions, MCP_SESSION),
        ];
        let tokens = self.token_cache_bytes;
        costs.iter().fold(tokens, |sum, (entries, cost)| {
            sum.saturating_add(entries.saturating_mul(cost.bytes))
        })
    }
}

/// Returns the number of connections that a process may have open on this host.
pub(crate) fn max_open_connections(host: &HostResources) -> usize {
    let files = host.open_files.unwrap_or(u64::MAX);
    let free = files - files / RESERVED_FILES_DIVISOR;
    usize::try_from(free).unwrap_or(usize::MAX).max(MIN_DERIVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * KIB;

    fn host(open_files: Option<u64>) -> HostResources {
        HostResources {
            machine_bytes: u64::MAX,
            cgroup: None,
            open_files,
        }
    }

    #[test]
    fn limits_follow_from_memory_and_open_files_within_their_parts() {
        let many = Some(1_048_576);
        for (mib, files, connections, pending_pages, realms) in [
            (64, many, 512, 256, 512),
            (150, many, 1_200, 600, 1_200),
            // A machine with a GiB.
            (512, many, 4_096, 2_048, 4_096),
            (4_096, many, 32_768, 16_384, 32_768),
            (4_096, None, 32_768, 16_384, 32_768),
            (4_096, Some(4_096), 3_584, 1_792, 3_584),
            (4_096, Some(40), 64, 32, 64),
            (262_144, many, 917_504, 458_752, 917_504),
        ] {
            let limits = SharedLimits::new(ConfiguredLimits::default(), mib * MIB, &host(files));
            let SharedLimits {
                connections: derived,
                catalogues,
                mcp_sessions,
                ..
            } = limits;
            let pages = (limits.pending_pages, limits.realms);
            assert_eq!(
                (derived, pages),
                (connections, (pending_pages, realms)),
                "{mib}"
            );
            assert_eq!((catalogues, mcp_sessions), (mib * 8, mib * 8), "{mib}");
            assert!(limits.memory_bytes() <= mib * MIB / 32 * 29, "{mib}");
        }
    }

    #[test]
    fn an_ordinary_machine_has_room_for_1500_users() {
        let limits = SharedLimits::new(ConfiguredLimits::default(), 512 * MIB, &host(Some(4_096)));
        assert!(
            limits.realms >= 1_500 && limits.mcp_sessions >= 1_500,
            "{limits:?}"
        );
        // A page and the stream of a client for each.
        assert!(limits.connections >= 3_000, "{limits:?}");
    }

    #[test]
    fn limits_that_are_set_are_not_changed() {
        let configured = ConfiguredLimits {
            connections: Some(20),
            pending_pages: Some(512),
            realms: Some(1_000_000),
            catalogues: Some(1),
            mcp_sessions: Some(7),
        };
        let limits = SharedLimits::new(configured, 64 * MIB, &host(Some(64)));
        let expected = SharedLimits {
            connections: 20,
            pending_pages: 512,
            realms: 1_000_000,
            catalogues: 1,
            mcp_sessions: 7,
            token_cache_bytes: 2 * MIB,
        };
        assert_eq!(limits, expected);
        let configured = ConfiguredLimits {
            connections: Some(20),
            ..ConfiguredLimits::default()
        };
        let limits = SharedLimits::new(configured, 64 * MIB, &host(Some(64)));
        assert_eq!((limits.realms, limits.pending_pages), (20, 10));
    }
}
