//! A summary of a configuration in a few lines.

use bridge_settings::may_have_credentials;

use crate::config::{Config, Identity, Network};

/// Where the bridge would listen, and who could connect.
pub(super) fn describe(config: &Config) -> String {
    let Network {
        bind,
        allowed_hosts,
        allowed_origins,
        ..
    } = &config.network;
    format!(
        "address: {bind}\nhosts: {}\npages: {}, and the bridge's own\ntokens: {}\n",
        join_or_none(allowed_hosts),
        join_or_none(allowed_origins),
        describe_tokens(config)
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
    match (listed, describe_signed_tokens(&config.identity)) {
        (0, None) => "any that a page makes itself".to_owned(),
        (0, Some(signed)) => signed,
        (listed, None) => format!("{listed} that are listed"),
        (listed, Some(signed)) => format!("{listed} that are listed, and {signed}"),
    }
}

fn describe_signed_tokens(identity: &Identity) -> Option<String> {
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
    (!keys.is_empty()).then(|| {
        format!(
            "signed ones of {issuer} for {}, checked with {}",
            join_or_none(&identity.jwt_audience),
            keys.join(" and ")
        )
    })
}
