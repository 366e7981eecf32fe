//! Limits that all clients of a bridge share, and how they are divided when they are reached.
//!
//! A [`Party`] is an address, and within it a token or the origin of a page. Any party may use a
//! limit to the full as long as nobody else needs it. When it is reached, what makes room for a
//! newcomer belongs to the address that holds the most, and there to the token or origin that holds
//! the most: nobody loses anything because others hold more.
//!
//! [`Holdings`] says who holds how much, in entries or in bytes. [`SharedPool`] limits a number of
//! entries, of which those go first that nobody uses. [`ByteBudget`] limits bytes that are in use
//! and cannot make room: what is refused there is more of the party that holds much already.

mod auth_failures;
mod byte_budget;
mod cpu_pool;
mod fair_queue;
mod holdings;
mod party;
mod pending_pages;
mod pool;
mod realm_slots;
mod refusals;
mod unread_answers;
mod work_order;

pub(crate) use auth_failures::AuthFailures;
pub(crate) use byte_budget::{BudgetExceeded, ByteBudget, ByteLease};
#[cfg(test)]
pub(crate) use cpu_pool::MAX_WAITING_BYTES;
#[cfg(test)]
pub(crate) use cpu_pool::tests::occupy;
pub(crate) use cpu_pool::{
    CpuPool, MAX_WAITING_BYTES_OF_ALL, ScanTurn, WorkError, is_multi_threaded,
};
pub(crate) use holdings::Holdings;
pub(crate) use party::{PageParty, Party};
pub(crate) use pending_pages::{PendingPagePermit, PendingPages};
pub(crate) use pool::{PoolPermit, PoolUse, SharedPool};
pub(crate) use realm_slots::{RealmClass, RealmPermit, RealmSlots};
pub(crate) use refusals::{RefusalKind, RefusalLog, RefusalRecord};
pub(crate) use unread_answers::{AnswerBody, AnswerLease, UnreadAnswers};
pub(crate) use work_order::{INLINE_LIMIT, WorkLength, WorkOrder};
