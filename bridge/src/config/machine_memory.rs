//! How much memory this process may use.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

const GIB: u64 = 1024 * 1024 * 1024;

/// The memory of the machine, or of the container if that has less, in bytes.
pub(super) fn available_bytes() -> u64 {
    let memory = MemoryRefreshKind::nothing().with_ram();
    let refreshed = System::new_with_specifics(RefreshKind::nothing().with_memory(memory));
    // A system that does not say how much memory it has is taken to have a GiB.
    let Ok(system) = refreshed else { return GIB };
    let of_container = system.cgroup_limits().map(|limits| limits.total_memory);
    let of_container = of_container.filter(|bytes| *bytes > 0);
    system.total_memory().min(of_container.unwrap_or(u64::MAX))
}
