//! A cache of parsed clients. Clients of MCP 2026-07-28 send their info and capabilities with each
//! request, in the same text each time, which the cache avoids parsing again.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use bridge_realm::fast_hash::FastHash;

use super::message_reader::MessageReader;
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
    reader: MessageReader,
    info: Box<str>,
    capabilities: Box<str>,
    client: Arc<RequestingClient>,
}

impl ClientCache {
    /// Returns the client with this reader, this info and these capabilities. Calls `parse` if it is
    /// not cached.
    pub(super) fn get_or_parse(
        &self,
        reader: MessageReader,
        info: &str,
        capabilities: &str,
        parse: impl FnOnce() -> Option<RequestingClient>,
    ) -> Option<Arc<RequestingClient>> {
        if info.len() + capabilities.len() > MAX_DECLARATION_BYTES {
            return parse().map(Arc::new);
        }
        let hash = self.hasher.hash_one((reader, info, capabilities));
        let clients = || self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients().get(&hash)
            && (client.reader, &*client.info, &*client.capabilities) == (reader, info, capabilities)
        {
            return Some(Arc::clone(&client.client));
        }
        let client = Arc::new(parse()?);
        let mut clients = clients();
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let cached = CachedClient {
            reader,
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
        let reader = MessageReader::Other;
        let parse = || Some(RequestingClient::new(&config, reader, None, None, None));
        let get = |info: &str, capabilities: &str| {
            recent.get_or_parse(reader, info, capabilities, || None)
        };
        let parse_new = |info: &str| recent.get_or_parse(reader, info, "{}", parse).unwrap();
        let one = parse_new("a");
        assert!(Arc::ptr_eq(&one, &get("a", "{}").unwrap()));
        assert!(get("a{", "}").is_none());
        let stdio = recent.get_or_parse(MessageReader::Stdio, "a", "{}", || None);
        assert!(stdio.is_none());
        for n in 0..MAX_CLIENTS {
            parse_new(&n.to_string());
        }
        assert!(recent.clients.lock().unwrap().len() <= MAX_CLIENTS);
        assert!(get("a", "{}").is_none());
        let long = "x".repeat(MAX_DECLARATION_BYTES);
        parse_new(&long);
        assert!(get(&long, "{}").is_none());
    }
}
