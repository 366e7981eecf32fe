//! A summary of a configuration in a few lines.

use bridge_settings::may_have_credentials;

use crate::config::{Config, HostResources, Identity, Network, SharedLimits};

/// Where the bridge would listen, who could connect, and how many.
pub(super) fn describe(config: &Config, host: &HostResources) -> String {
    let Network {
        bind,
        allowed_hosts,
        allowed_origins,
        ..
    } = &config.network;
    let encryption = if config.tls.is_enabled() {
        ", with TLS"
    } else {
        ""
    };
    format!(
        "address: {bind}{encryption}\nhosts: {}\npages: {}, and the bridge's own\ntokens: {}\nmemory: {}\n\
         limits: {}\n",
        join_or_none(allowed_hosts),
        join_or_none(allowed_origins),
        describe_tokens(config),
        describe_memory(config, host),
        describe_limits(config.shared_limits(host))
    )
}

fn describe_memory(config: &Config, host: &HostResources) -> String {
    let mib = |bytes: u64| bytes / (1024 * 1024);
    let max_bytes = u64::try_from(config.memory.max_bytes(host)).unwrap_or(u64::MAX);
    let source = match &host.cgroup {
        Some(limit) => limit.file.display().to_string(),
        None => "the machine".to_owned(),
    };
    format!(
        "{} of {} MiB ({source})",
        mib(max_bytes),
        mib(host.memory_bytes())
    )
}

fn describe_limits(limits: SharedLimits) -> String {
    let SharedLimits {
        connections,
        pending_pages,
        realms,
        mcp_sessions,
        ..
    } = limits;
    format!(
        "{connections} connections, {realms} tokens with pages, {mcp_sessions} MCP sessions, \
         {pending_pages} pages that authenticate"
    )
}

fn join_or_none(entries: &[String]) -> String {
    match entries {
        [] => "none".to_owned(),
        entries => entries.join(", "),
    }
}

fn describe_tokens(config: &Config) -> String {
    // It was read a moment ago; gone since then, it lists none.
    let listed = config.tokens.load().map_or(0, |tokens| tokens.len());
    let signed: Vec<_> = config.identity.all_issuers().map(describe_issuer).collect();
    match (listed, signed.join("; ")) {
        (0, signed) if signed.is_empty() => "any that a page makes itself".to_owned(),
        (0, signed) => signed,
        (listed, signed) if signed.is_empty() => format!("{listed} that are listed"),
        (listed, signed) => format!("{listed} that are listed, and {signed}"),
    }
}

fn describe_issuer(identity: &Identity) -> String {
    let keys = [
        identity.jwt_secret.as_ref().map(|_| "a secret".to_owned()),
        identity
            .jwt_keys
            .as_ref()
            .map(|path| format!("the keys in {}", path.display())),
        identity.jwks_url.as_ref().map(|url| {
            if may_have_credentials(url) {
                "the keys at a URL with credentials".to_owned()
            } else {
                format!("the keys at {url}")
            }
        }),
    ];
    let keys: Vec<String> = keys.into_iter().flatten().collect();
    let issuer = identity.jwt_issuer.as_deref().unwrap_or("no issuer");
    format!(
        "signed ones of {issuer} for {}, checked with {}",
        join_or_none(&identity.jwt_audience),
        keys.join(" and ")
    )
}
