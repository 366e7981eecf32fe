//! Rules about what the host can do: open files and memory.

use crate::config::{Config, HostResources, max_open_connections};

/// With fewer open files than this, tens of users fill a bridge. Many systems allow this number at
/// least.
const FEW_OPEN_FILES: u64 = 1_024;

pub(super) fn too_many_connections(config: &Config, host: &HostResources) -> Option<String> {
    let files = host.open_files?;
    let connections = config.network.max_connections?;
    let max = max_open_connections(host);
    (connections > max).then(|| {
        format!(
            "`max_connections` is {connections}, and the hard limit of open files is {files}, enough \
             for {max}: raise it (`LimitNOFILE=` of systemd, `ulimit -H -n`), or lower the setting"
        )
    })
}

pub(super) fn few_open_files(config: &Config, host: &HostResources) -> Option<String> {
    let files = host.open_files?;
    let is_set = config.network.max_connections.is_some();
    (files < FEW_OPEN_FILES && !is_set).then(|| {
        format!(
            "the hard limit of open files is {files}, so that at most {} connections are served, \
             where a user needs two or three: raise it (`LimitNOFILE=` of systemd, `ulimit -H -n`)",
            max_open_connections(host)
        )
    })
}

/// The kernel ends a process that uses more memory than there is.
pub(super) fn too_much_memory(config: &Config, host: &HostResources) -> Option<String> {
    let max_memory_bytes = config.memory.max_bytes(host);
    let entries = config.shared_limits(host).memory_bytes();
    let required = max_memory_bytes.saturating_add(entries);
    if u64::try_from(required).is_ok_and(|required| required <= host.memory_bytes()) {
        return None;
    }
    let (available, owner) = match &host.cgroup {
        Some(limit) => (
            limit.bytes,
            format!("the control group ({})", limit.file.display()),
        ),
        None => (host.machine_bytes, "the machine".to_owned()),
    };
    Some(format!(
        "the bridge may use {max_memory_bytes} bytes for requests and results and {entries} for \
         connections and sessions, and {owner} has {available}: the kernel may end it. Lower \
         `max_memory_bytes`, `max_connections`, `max_realms`, `max_mcp_sessions` and \
         `max_pending_pages`, or raise the limit"
    ))
}

/// A page needs a connection.
pub(super) fn more_pages_than_connections(config: &Config, host: &HostResources) -> Option<String> {
    let connections = config.shared_limits(host).connections;
    let pages = [
        ("max_realms", config.tokens.max_realms),
        ("max_pending_pages", config.page_limits.max_pending_pages),
    ];
    pages.into_iter().find_map(|(name, limit)| {
        let limit = limit.filter(|limit| *limit > connections)?;
        Some(format!(
            "`{name}` is {limit}, and only {connections} connections can be open: raise \
             `max_connections` or the hard limit of open files, or lower `{name}`"
        ))
    })
}
