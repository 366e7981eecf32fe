//! The resources of the machine: its memory, and how many files the process may open.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::cgroup::{self, CgroupLimit};

const GIB: u64 = 1024 * 1024 * 1024;

/// Memory and open files that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostResources {
    /// The memory of the machine, in bytes.
    pub(crate) machine_bytes: u64,
    /// The memory limit of the control groups around the process, if it is below that of the machine.
    pub(crate) cgroup: Option<CgroupLimit>,
    /// The hard limit of open files; `None` if files are not limited, or the limit is not known.
    pub(crate) open_files: Option<u64>,
}

/// How many files a connection needs at one of several bridges: it may be passed on, and as many
/// connections may come from other bridges.
const FILES_IN_CLUSTER: u64 = 3;

impl HostResources {
    /// The resources that are left for the clients of one of several bridges.
    pub(super) fn shared_with_peers(&self) -> Self {
        Self {
            open_files: self.open_files.map(|files| files / FILES_IN_CLUSTER),
            ..self.clone()
        }
    }

    /// Asks the system.
    pub(crate) fn detect() -> Self {
        let memory = MemoryRefreshKind::nothing().with_ram();
        let system = System::new_with_specifics(RefreshKind::nothing().with_memory(memory));
        // A system that does not report its memory is assumed to have a GiB.
        let machine_bytes = system.map_or(GIB, |system| system.total_memory());
        Self {
            machine_bytes,
            cgroup: cgroup::memory_limit().filter(|limit| limit.bytes < machine_bytes),
            open_files: bridge_edge::open_file_limit(),
        }
    }

    /// The memory that this process may use at most, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let of_cgroup = self.cgroup.as_ref().map(|limit| limit.bytes);
        of_cgroup.unwrap_or(self.machine_bytes)
    }
}
