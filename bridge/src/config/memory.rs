//! The setting of how much memory requests, messages and results may use, and how it is divided.

use bridge_settings::values;
use clap::Args;

use super::host::HostResources;

/// The part of the machine's memory that is used if nothing else is set: half of it.
const DEFAULT_DIVISOR: u64 = 2;

/// The smallest limit that can be set, in bytes: less would not hold one large result.
const MIN_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The part of the memory that answers may use which wait to be read.
const UNREAD_DIVISOR: usize = 4;

/// The part of the memory that stored results may use.
const KEPT_DIVISOR: usize = 8;

/// The part of the memory that stored events of streams may use.
const REPLAY_DIVISOR: usize = 16;

/// The part of the memory that the definitions of closed apps may use.
const CATALOGUE_DIVISOR: usize = 16;

/// Settings of the memory.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Memory")]
pub struct Memory {
    /// Memory that requests, messages, definitions and results may use together, in bytes, at least
    /// 64 MiB. Without it, half of what the machine has, or its control group.
    #[arg(long, env = "MCP_WEB_MAX_MEMORY_BYTES", value_name = "BYTES", value_parser = parse_memory_bytes)]
    pub max_memory_bytes: Option<usize>,
}

fn parse_memory_bytes(text: &str) -> Result<usize, String> {
    let bytes = values::parse_count(text)?;
    if bytes < MIN_MEMORY_BYTES {
        return Err(format!("at least {MIN_MEMORY_BYTES} bytes are needed"));
    }
    Ok(bytes)
}

/// The limits of what is stored, in bytes.
#[derive(Debug)]
pub(super) struct StoredLimits<'a> {
    pub(super) unread: &'a mut usize,
    pub(super) kept: &'a mut usize,
    pub(super) replay: &'a mut usize,
    pub(super) catalogue: &'a mut usize,
}

impl Memory {
    /// Returns the memory that is set, or else the default part of what the host has, in bytes.
    pub(crate) fn max_bytes(self, host: &HostResources) -> usize {
        self.max_memory_bytes.unwrap_or_else(|| {
            let part = host.memory_bytes() / DEFAULT_DIVISOR;
            let part = usize::try_from(part).unwrap_or(usize::MAX);
            part.max(MIN_MEMORY_BYTES)
        })
    }

    /// Divides the memory: lowers the limits of what is stored to their parts of it, and returns
    /// what is left for requests and messages, in bytes.
    pub(super) fn divide(max_bytes: usize, stored: StoredLimits<'_>) -> usize {
        let parts = [
            ("max_unread_bytes", stored.unread, UNREAD_DIVISOR),
            ("max_kept_bytes", stored.kept, KEPT_DIVISOR),
            ("max_replay_bytes", stored.replay, REPLAY_DIVISOR),
            ("max_catalogue_bytes", stored.catalogue, CATALOGUE_DIVISOR),
        ];
        let mut rest = max_bytes;
        for (name, limit, divisor) in parts {
            let part = max_bytes / divisor;
            if *limit > part {
                tracing::info!(
                    "`{name}` is {part}, 1/{divisor} of `max_memory_bytes`, in place of {limit}"
                );
                *limit = part;
            }
            rest -= *limit;
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::cgroup::CgroupLimit;

    const MIB: usize = 1024 * 1024;

    /// Divides a memory of which 256, 128, 64 and 32 MiB are stored. Returns the limits of what is
    /// stored, and the rest.
    fn divide(max_bytes: usize) -> ([usize; 4], usize) {
        let [mut unread, mut kept, mut replay, mut catalogue] =
            [256, 128, 64, 32].map(|mib| mib * MIB);
        let stored = StoredLimits {
            unread: &mut unread,
            kept: &mut kept,
            replay: &mut replay,
            catalogue: &mut catalogue,
        };
        let rest = Memory::divide(max_bytes, stored);
        ([unread, kept, replay, catalogue], rest)
    }

    #[test]
    fn a_small_memory_lowers_the_limits_of_stored_data() {
        let (stored, rest) = divide(256 * MIB);
        assert_eq!(stored, [64, 32, 16, 16].map(|mib| mib * MIB));
        assert_eq!(rest, 128 * MIB);
    }

    #[test]
    fn a_large_memory_lowers_nothing() {
        let (stored, rest) = divide(8192 * MIB);
        assert_eq!(stored, [256, 128, 64, 32].map(|mib| mib * MIB));
        assert_eq!(rest, (8192 - 480) * MIB);
    }

    #[test]
    fn without_a_setting_it_is_half_of_what_the_host_has() {
        let host = |cgroup_mib: Option<u64>| HostResources {
            machine_bytes: 4096 * MIB as u64,
            cgroup: cgroup_mib.map(|mib| CgroupLimit {
                bytes: mib * MIB as u64,
                file: "memory.max".into(),
            }),
            open_files: None,
        };
        let default = Memory::default();
        assert_eq!(default.max_bytes(&host(None)), 2048 * MIB);
        assert_eq!(default.max_bytes(&host(Some(300))), 150 * MIB);
        assert_eq!(default.max_bytes(&host(Some(100))), MIN_MEMORY_BYTES);
        let max_memory_bytes = Some(3000 * MIB);
        assert_eq!(
            Memory { max_memory_bytes }.max_bytes(&host(Some(300))),
            3000 * MIB
        );
    }

    #[test]
    fn less_than_64_mib_is_refused() {
        let error = parse_memory_bytes("1000000").unwrap_err();
        assert!(error.contains("67108864"), "{error}");
        assert_eq!(parse_memory_bytes("67108864"), Ok(64 * MIB));
    }
}
