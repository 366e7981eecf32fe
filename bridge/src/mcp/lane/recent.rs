//! Clients of MCP 2026-07-28 say in each request who they are and what they can do, in the same
//! words each time: they are read once.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hashing::Quick;
use crate::mcp::known::Known;

/// So many are remembered; one more, and all are forgotten.
const MOST: usize = 256;

/// Longer words are read each time.
const MAX_BYTES: usize = 2 * 1024;

/// The words, by their hash.
#[derive(Debug, Default)]
pub(in crate::mcp) struct Recent {
    hasher: Quick,
    clients: Mutex<HashMap<u64, Client>>,
}

#[derive(Debug)]
struct Client {
    info: Box<str>,
    capabilities: Box<str>,
    known: Arc<Known>,
}

impl Recent {
    /// The client that says this of itself and of its capabilities.
    pub(super) fn known(
        &self,
        info: &str,
        capabilities: &str,
        read: impl FnOnce() -> Option<Known>,
    ) -> Option<Arc<Known>> {
        if info.len() + capabilities.len() > MAX_BYTES {
            return read().map(Arc::new);
        }
        let hash = self.hasher.hash_one((info, capabilities));
        let clients = || self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients().get(&hash)
            && (&*client.info, &*client.capabilities) == (info, capabilities)
        {
            return Some(Arc::clone(&client.known));
        }
        let known = Arc::new(read()?);
        let mut clients = clients();
        if clients.len() >= MOST {
            clients.clear();
        }
        let client = Client {
            info: info.into(),
            capabilities: capabilities.into(),
            known: Arc::clone(&known),
        };
        clients.insert(hash, client);
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_same_words_are_read_once_and_few_words_are_kept() {
        let config = Config::default();
        let recent = Recent::default();
        let read = || Some(Known::new(&config, None, None, None));
        let one = recent.known("a", "{}", read).unwrap();
        let again = recent.known("a", "{}", || None).unwrap();
        assert!(Arc::ptr_eq(&one, &again));
        assert!(recent.known("a{", "}", || None).is_none());
        for n in 0..MOST {
            recent.known(&n.to_string(), "{}", read).unwrap();
        }
        assert!(recent.clients.lock().unwrap().len() <= MOST);
        assert!(recent.known("a", "{}", || None).is_none());
        let long = "x".repeat(MAX_BYTES);
        assert!(recent.known(&long, "{}", read).is_some());
        assert!(recent.known(&long, "{}", || None).is_none());
    }
}
