//! The costs of each user's queries today, and the budgets for them. They are kept in memory: a restart
//! begins anew.
//!
//! A turn reserves its expected cost, so that parallel queries do not spend the same dollar. As long as
//! running turns may use up the rest of a budget, further ones wait for them: those of an account in the
//! order in which they came, and of each account only the first one for the budget of all, so that no
//! user waits behind the many turns of another user.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryCaller};
use chrono::{NaiveDate, Utc};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::bridge::BridgeId;
use crate::config::{BudgetSettings, Usd};

/// The most users whose costs are counted apart. Further ones of the day are one user, so that many
/// names do not give anyone a new budget.
const MAX_USERS: usize = 100_000;

/// How long a turn waits for others. Most turns end within it.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The delay before the page reads that its query waits. A shorter wait is hardly noticed.
pub(crate) const WAIT_NOTED_AFTER: Duration = Duration::from_secs(1);

/// Returns the day by which prices and budgets are counted.
pub(crate) fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// The costs of today.
#[derive(Debug, Default)]
pub(crate) struct DailySpending {
    budgets: BudgetSettings,
    ledger: Mutex<Ledger>,
    /// The turns that wait for the budget of all, one of each account.
    queue: WaitQueue,
}

/// A queue of turns. The first one waits for a change of the budget.
#[derive(Debug)]
struct WaitQueue {
    /// It has one permit, which the first turn holds.
    first: Semaphore,
    /// Notified when a turn has ended.
    changed: Notify,
}

/// The account of the user of a query.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    spending: Arc<DailySpending>,
    name: AccountName,
    budget: Option<Usd>,
}

/// The users that have an account together, or alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum AccountName {
    User(BridgeId, Arc<str>),
    /// Users of a bridge that no issuer vouches for: any page can make itself a token.
    SelfMade(BridgeId),
    /// The users of a bridge beyond [`MAX_USERS`].
    Others(BridgeId),
}

/// The reserved cost of a turn. Dropping it frees what the turn has not cost.
#[derive(Debug)]
pub(crate) struct Reservation {
    spending: Arc<DailySpending>,
    account: AccountName,
    queue: Arc<WaitQueue>,
    reserved: Usd,
    /// The day on which the turn has ended, and its cost.
    settled: Option<(NaiveDate, Usd)>,
}

/// The accounts, without clock and budgets.
#[derive(Debug, Default)]
struct Ledger {
    day: NaiveDate,
    total: Costs,
    users: HashMap<AccountName, UserAccount>,
}

#[derive(Debug, Default)]
struct UserAccount {
    costs: Costs,
    queue: Arc<WaitQueue>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Costs {
    /// The cost of the turns that have ended today.
    spent: Usd,
    /// The expected cost of running turns.
    reserved: Usd,
}

/// The room that a budget leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// Running turns may use up the rest.
    Reserved,
    UsedUp,
}

impl DailySpending {
    pub(crate) fn new(budgets: BudgetSettings) -> Self {
        Self {
            budgets,
            ..Self::default()
        }
    }

    /// Returns the account of a user of a bridge.
    pub(crate) fn account(
        self: &Arc<Self>,
        bridge: BridgeId,
        caller: Option<&QueryCaller>,
    ) -> Account {
        let known = caller.filter(|caller| !caller.self_made);
        Account {
            spending: Arc::clone(self),
            name: known.map_or(AccountName::SelfMade(bridge), |it| {
                AccountName::User(bridge, (*it.user).into())
            }),
            budget: self.budgets.for_roles(known.map_or(&[], |it| &it.roles)),
        }
    }

    /// Locks the accounts. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn update<T>(&self, update: impl FnOnce(&mut Ledger) -> T) -> T {
        update(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self {
            first: Semaphore::new(1),
            changed: Notify::new(),
        }
    }
}

impl WaitQueue {
    /// Waits until an attempt returns a value. It is made again after each change.
    async fn retry<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, AgentFailure>,
    ) -> Result<T, AgentFailure> {
        loop {
            // It also receives what changes between the attempt and the wait.
            let changed = self.changed.notified();
            if let Some(value) = attempt()? {
                return Ok(value);
            }
            tracing::debug!("a turn waits for those that may use up the budget");
            changed.await;
        }
    }
}

impl Account {
    /// Reserves the expected cost of a turn. Waits while running turns may use up the budget.
    ///
    /// # Errors
    ///
    /// When a budget of today is used up, or running turns reserve the rest for too long.
    pub(crate) async fn reserve(&self, amount: Usd) -> Result<Reservation, AgentFailure> {
        let waited = timeout(MAX_WAIT, self.wait_in_queues(amount)).await;
        waited.unwrap_or_else(|_| Err(budget_reserved()))
    }

    async fn wait_in_queues(&self, amount: Usd) -> Result<Reservation, AgentFailure> {
        let own = self.spending.update(|ledger| {
            let account = ledger.account(&self.name);
            Arc::clone(&ledger.user(account).queue)
        });
        let of_all = &self.spending.queue;
        let _first_of_account = own.first.acquire().await;
        own.retry(|| self.check_own_budget(today())).await?;
        let _first_of_all = of_all.first.acquire().await;
        of_all.retry(|| self.try_reserve(today(), amount)).await
    }

    /// Returns nothing while running turns may use up the budget of the account.
    fn check_own_budget(&self, today: NaiveDate) -> Result<Option<()>, AgentFailure> {
        let costs = self.spending.update(|ledger| {
            ledger.begin_day(today);
            ledger.of(&ledger.account(&self.name))
        });
        match costs.room(self.budget) {
            Room::Free => Ok(Some(())),
            Room::Reserved => Ok(None),
            Room::UsedUp => Err(budget_used_up("your budget for today is used up")),
        }
    }

    /// Reserves the expected cost of a turn, unless running turns may use up a budget.
    pub(crate) fn try_reserve(
        &self,
        today: NaiveDate,
        amount: Usd,
    ) -> Result<Option<Reservation>, AgentFailure> {
        if self.check_own_budget(today)?.is_none() {
            return Ok(None);
        }
        let of_all = self.spending.budgets.of_all();
        self.spending
            .update(|ledger| match ledger.total.room(of_all) {
                Room::Free => {
                    let account = ledger.account(&self.name);
                    ledger.reserve(&account, amount);
                    Ok(Some(Reservation {
                        spending: Arc::clone(&self.spending),
                        queue: Arc::clone(&ledger.user(account.clone()).queue),
                        account,
                        reserved: amount,
                        settled: None,
                    }))
                }
                Room::Reserved => Ok(None),
                Room::UsedUp => Err(budget_used_up(
                    "the budget of all users for today is used up",
                )),
            })
    }
}

#[cfg(test)]
impl Account {
    /// Returns what the user has spent today, and the expected cost of running turns.
    pub(crate) fn costs(&self) -> (Usd, Usd) {
        let Costs { spent, reserved } = self.spending.update(|ledger| ledger.of(&self.name));
        (spent, reserved)
    }
}

impl Reservation {
    /// Frees the reserved amount before the turn ends. Its cost still counts.
    pub(crate) fn release(&mut self) {
        let reserved = mem::take(&mut self.reserved);
        if reserved == Usd::default() {
            // A reader that stays slow wakes no waiting turns again.
            return;
        }
        self.update(|ledger, account| ledger.settle(account, reserved, Usd::default()));
    }

    /// Adds what the turn has cost to the account, on the day on which it has ended.
    pub(crate) fn settle(mut self, today: NaiveDate, cost: Usd) {
        self.settled = Some((today, cost));
    }

    fn update(&self, update: impl FnOnce(&mut Ledger, &AccountName)) {
        self.spending.update(|ledger| update(ledger, &self.account));
        for queue in [&self.queue, &self.spending.queue] {
            queue.changed.notify_waiters();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let cost = self.settled;
        self.update(|ledger, account| {
            let cost = cost.map_or_else(Usd::default, |(today, cost)| {
                ledger.begin_day(today);
                cost
            });
            ledger.settle(account, self.reserved, cost);
        });
    }
}

impl Ledger {
    /// Empties the accounts when a day begins. A clock that is set back over midnight does not, and the
    /// day does not begin again. A clock that was days ahead is corrected without it.
    fn begin_day(&mut self, today: NaiveDate) {
        if today > self.day {
            self.day = today;
            self.total.spent = Usd::default();
            self.users.retain(|_, user| {
                user.costs.spent = Usd::default();
                user.costs.reserved > Usd::default()
            });
        } else if self.day.signed_duration_since(today).num_days() > 1 {
            self.day = today;
        }
    }

    /// Returns the account of users with this name.
    fn account(&self, name: &AccountName) -> AccountName {
        match name {
            AccountName::User(bridge, _)
                if !self.users.contains_key(name) && self.users.len() >= MAX_USERS =>
            {
                AccountName::Others(*bridge)
            }
            name => name.clone(),
        }
    }

    fn of(&self, account: &AccountName) -> Costs {
        let user = self.users.get(account);
        user.map(|user| user.costs).unwrap_or_default()
    }

    fn user(&mut self, account: AccountName) -> &mut UserAccount {
        self.users.entry(account).or_default()
    }

    fn reserve(&mut self, account: &AccountName, amount: Usd) {
        let own = self.users.entry(account.clone()).or_default();
        for costs in [&mut own.costs, &mut self.total] {
            costs.reserved = costs.reserved.saturating_add(amount);
        }
    }

    /// Ends a turn. Its cost counts on the day on which it ends.
    fn settle(&mut self, account: &AccountName, reserved: Usd, cost: Usd) {
        let own = self.users.entry(account.clone()).or_default();
        for costs in [&mut own.costs, &mut self.total] {
            costs.reserved = costs.reserved.saturating_sub(reserved);
            costs.spent = costs.spent.saturating_add(cost);
        }
    }
}

impl Costs {
    fn room(self, budget: Option<Usd>) -> Room {
        match budget {
            Some(budget) if self.spent >= budget => Room::UsedUp,
            Some(budget) if self.spent.saturating_add(self.reserved) >= budget => Room::Reserved,
            _ => Room::Free,
        }
    }
}

/// Creates the failure for a budget. It contains no amount: prices are between operator and provider.
fn budget_used_up(message: &str) -> AgentFailure {
    AgentFailure::new(ErrorCode::QueryBudgetExceeded, message)
        .with_loggable_message()
        .with_remedy("ask again after midnight (UTC), or ask the operator for a larger budget")
}

/// Creates the failure for a budget of which running turns reserve the rest.
fn budget_reserved() -> AgentFailure {
    let message = "other requests use the rest of the budget at the moment";
    AgentFailure::new(ErrorCode::QueryBudgetExceeded, message)
        .with_loggable_message()
        .with_remedy("try again")
}

#[cfg(test)]
mod tests;
