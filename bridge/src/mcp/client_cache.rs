//! A cache of parsed clients. Clients of MCP 2026-07-28 send their info and capabilities with each
//! request, in the same text each time, which the cache avoids parsing again.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use bridge_realm::fast_hash::FastHash;

use super::requesting_client::RequestingClient;

/// The maximum number of clients. One more clears the cache.
const MAX_CLIENTS: usize = 256;

/// Longer texts are parsed each time.
const MAX_DECLARATION_BYTES: usize = 2 * 1024;

/// Parsed clients, by the hash of their text.
#[derive(Debug, Default)]
pub(super) struct ClientCache {
    hasher: FastHash,
    clients: Mutex<HashMap<u64, CachedClient>>,
}

#[derive(Debug)]
struct CachedClient {
    info: Box<str>,
    capabilities: Box<str>,
    client: Arc<RequestingClient>,
}

impl ClientCache {
    /// Returns the client with this info and these capabilities. Calls `parse` if it is not cached.
    pub(super) fn get_or_parse(
        &self,
        info: &str,
        capabilities: &str,
        parse: impl FnOnce() -> Option<RequestingClient>,
    ) -> Option<Arc<RequestingClient>> {
        if info.len() + capabilities.len() > MAX_DECLARATION_BYTES {
            return parse().map(Arc::new);
        }
        let hash = self.hasher.hash_one((info, capabilities));
        let clients = || self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients().get(&hash)
            && (&*client.info, &*client.capabilities) == (info, capabilities)
        {
            return Some(Arc::clone(&client.client));
        }
        let client = Arc::new(parse()?);
        let mut clients = clients();
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let cached = CachedClient {
            info: info.into(),
            capabilities: capabilities.into(),
            client: Arc::clone(&client),
        };
        clients.insert(hash, cached);
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn equal_declarations_are_parsed_once_and_the_cache_is_bounded() {
        let config = Config::default();
        let recent = ClientCache::default();
        let read = || Some(RequestingClient::new(&config, None, None, None));
        let one = recent.get_or_parse("a", "{}", read).unwrap();
        let again = recent.get_or_parse("a", "{}", || None).unwrap();
        assert!(Arc::ptr_eq(&one, &again));
        assert!(recent.get_or_parse("a{", "}", || None).is_none());
        for n in 0..MAX_CLIENTS {
            recent.get_or_parse(&n.to_string(), "{}", read).unwrap();
        }
        assert!(recent.clients.lock().unwrap().len() <= MAX_CLIENTS);
        assert!(recent.get_or_parse("a", "{}", || None).is_none());
        let long = "x".repeat(MAX_DECLARATION_BYTES);
        assert!(recent.get_or_parse(&long, "{}", read).is_some());
        assert!(recent.get_or_parse(&long, "{}", || None).is_none());
    }
}
