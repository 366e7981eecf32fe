//! The name of a client in its `clientInfo`.

/// Returns the name of the client behind proxies that add their own: mcp-remote turns `claude-ai`
/// into `claude-ai (via mcp-remote 0.15.1)`.
pub(super) fn client_behind_proxies(mut name: &str) -> &str {
    while let Some((client, _)) = name
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once(" (via "))
    {
        name = client;
    }
    name
}
