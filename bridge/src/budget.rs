//! The limits that all clients of a bridge share, and how they are divided: whose turn, whose share,
//! whose bytes.
//!
//! A budget is held by a [`Party`]: an address, and within it a token or the origin of a page. A party
//! may use all of a budget that no other party needs. When a budget is used up, the address that holds
//! the most makes room for a newcomer, and there the token or origin that holds the most. A party
//! loses nothing to a party that holds more. [`Holdings`] records how much each party holds. There
//! are three ways to hold a part of a budget:
//!
//! - an entry of a [`SharedPool`]. Idle entries make room first;
//! - a [lease](ByteLease) on bytes of a [`ByteBudget`]. Bytes in use cannot make room, so a party
//!   that holds many already is refused more. Data that is only stored for later (closed apps,
//!   results, events) makes room: it is dropped;
//! - a turn in the [`CpuPool`], whose queue is fair to tokens.
//!
//! [`RefusalLog`] logs and counts refusals.
//!
//! | limit | held by | acquired | setting |
//! |---|---|---|---|
//! | [connections](bridge_edge::connections::ConnectionSlots) | address | when one is accepted | `max_connections` |
//! | refused tokens in a minute | address | with each refused token | `max_refused_tokens` |
//! | tokens in a minute that no bridge of a cluster serves | address | with each that was looked up | `max_cluster_lookups` |
//! | sockets before they have authenticated | page | when a page connects | `max_pending_pages` |
//! | tokens with pages, or with waiting clients | page | with the first page or client | `max_realms` |
//! | tokens whose apps are closed | page | with the end of the last page | `max_catalogues` |
//! | bytes of closed apps | token | when an app is closed | `max_catalogue_bytes` |
//! | MCP sessions (`web::session_pool`) | token | by `initialize` | `max_mcp_sessions` |
//! | bytes of requests, messages and definitions | token | as they arrive, if there are many | `max_memory_bytes` |
//! | bytes of stored results (`result_store`) | token | with a result that is truncated or late | `max_kept_bytes` |
//! | bytes of streams that can be resumed (`mcp::event_log`) | token | with each event | `max_replay_bytes` |
//! | bytes of answers that wait to be read | token | with an answer of 64 KiB or more | `max_unread_bytes` |
//! | turns of processors, and the JSON that waits for them | token | with work of more than about a millisecond | |
//! | requests for conversations | token | with each request | |
//!
//! "Page" means the address and origin of a page, "token" an address and a token. Turns and requests
//! for conversations do not depend on the address. Sessions of mcp-web 0.1 are counted separately,
//! with the same limit.
//!
//! A `tools/call` of ordinary size takes no lock of a budget: its body, its arguments, the message to
//! the page and its answer are only compared with the size from which they count. A large one asks
//! once for each piece of work (`Hub::run_work`: the bytes that wait, and the turn), and once for its
//! answer (`Hub::lease_answer`). It cannot acquire everything when it begins, because the length of
//! its answer is not known then.
//!
//! Limits on numbers follow from the host unless they are set: [`SharedLimits`]. Refusals are final or
//! temporary: [`RefusalKind::retry`].
//!
//! Limits of one token alone (`max_calls`, `max_sessions`, `max_clients` and others) are part of its
//! [realm](bridge_realm::realm::RealmLimits). Limits of one socket, such as its rate of frames, are in
//! the module that reads it.

mod auth_failures;
mod byte_budget;
mod conversation_permits;
mod cpu_pool;
mod fair_queue;
mod holdings;
mod minute_counts;
mod party;
mod pending_pages;
mod pool;
mod realm_slots;
mod refusals;
mod unread_answers;
mod work_order;

use std::sync::Arc;

use bridge_auth::AuthError;
use bridge_edge::ClientAddress;

use crate::config::{Config, HostResources, SharedLimits};
use auth_failures::AuthFailures;
use conversation_permits::ConversationPermits;
use cpu_pool::{CpuPool, MAX_WAITING_BYTES_OF_ALL};
use minute_counts::MinuteCounts;
use pending_pages::PendingPages;
use realm_slots::RealmSlots;

pub(crate) use byte_budget::{BudgetExceeded, ByteBudget, ByteLease};
#[cfg(test)]
pub(crate) use cpu_pool::MAX_WAITING_BYTES;
#[cfg(test)]
pub(crate) use cpu_pool::tests::occupy;
pub(crate) use cpu_pool::{ScanTurn, WorkError, is_multi_threaded};
pub(crate) use holdings::Holdings;
pub(crate) use party::{PageParty, Party};
pub(crate) use pending_pages::PendingPagePermit;
pub(crate) use pool::{Evictable, PoolPermit, PoolUse, SharedPool};
pub(crate) use realm_slots::{RealmClass, RealmPermit};
pub(crate) use refusals::{RefusalKind, RefusalLog, RefusalRecord};
pub(crate) use unread_answers::{AnswerBody, AnswerLease, Delivery, UnreadAnswers};
pub(crate) use work_order::{INLINE_LIMIT, WorkLength, WorkOrder};

/// The budgets of a bridge, except for those of its connections, its MCP sessions and its stores,
/// which hold their own.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// The limits on numbers, as far as they follow from the host.
    pub(crate) limits: SharedLimits,
    /// Counts the refused tokens of each address.
    pub(crate) auth_failures: AuthFailures,
    /// Counts the tokens of each address that were looked up, and that no bridge of the cluster serves.
    pub(crate) lookups: MinuteCounts,
    /// Limits the sockets of pages that have not authenticated yet.
    pub(crate) pending_pages: PendingPages,
    pub(crate) realms: RealmSlots,
    /// The definitions that stay listed after their apps were closed.
    pub(crate) catalogues: ByteBudget,
    /// The memory of requests, messages and definitions.
    pub(crate) memory: ByteBudget,
    pub(crate) unread_answers: UnreadAnswers,
    /// The JSON in the work that waits for the CPU pool.
    pub(crate) waiting_work: ByteBudget,
    /// The threads for work that would block those that serve sockets.
    pub(crate) cpu_pool: CpuPool,
    /// Limits the requests to the agent for conversations.
    pub(crate) conversations: ConversationPermits,
    /// The log and the counts of refusals.
    pub(crate) refusals: Arc<RefusalLog>,
}

impl Budgets {
    /// Creates the budgets of a configuration, whose memory is divided first. Requires a runtime.
    pub(crate) fn new(config: &mut Config) -> Self {
        let host = HostResources::detect();
        let limits = config.shared_limits(&host);
        let memory = ByteBudget::new(config.divide_memory(&host));
        Self {
            limits,
            auth_failures: AuthFailures::new(config.identity.max_refused_tokens),
            lookups: MinuteCounts::new(config.cluster.max_cluster_lookups),
            pending_pages: PendingPages::new(limits.pending_pages),
            realms: RealmSlots::new(&limits),
            catalogues: ByteBudget::new(config.page_limits.max_catalogue_bytes),
            memory,
            unread_answers: UnreadAnswers::new(config.results.max_unread_bytes),
            waiting_work: ByteBudget::new(MAX_WAITING_BYTES_OF_ALL),
            cpu_pool: CpuPool::new(),
            conversations: ConversationPermits::default(),
            refusals: Arc::default(),
        }
    }

    /// Counts a refused token for the address of its client, and logs it.
    pub(crate) fn record_refused_token(
        &self,
        address: ClientAddress,
        route: &'static str,
        error: &AuthError,
    ) {
        self.auth_failures.record(address, error);
        if let Some(kind) = RefusalKind::from_code(error.code) {
            self.refusals.record(kind, address, route, &error.message);
        }
    }
}
