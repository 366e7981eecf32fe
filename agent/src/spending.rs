//! The costs of each user's queries today, and the budgets for them. They are kept in memory: a restart
//! begins anew.
//!
//! A turn reserves its expected cost, so that parallel queries do not spend the same dollar. As long as
//! running turns may use up the rest of a budget, further ones wait for them, in the order in which they
//! came.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryCaller};
use chrono::{NaiveDate, Utc};
use tokio::sync::Notify;
use tokio::time::timeout;

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
    /// Notified when a turn has ended, or does not wait any more.
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
    User(Arc<str>),
    /// Users that no issuer vouches for: any page can make itself a token.
    SelfMade,
    /// The users beyond [`MAX_USERS`].
    Others,
}

/// A turn before its reservation. Dropping it leaves the queue.
#[derive(Debug)]
struct WaitingTurn<'a> {
    account: &'a Account,
    number: u64,
}

/// The reserved cost of a turn. Dropping it frees what the turn has not cost.
#[derive(Debug)]
pub(crate) struct Reservation {
    spending: Arc<DailySpending>,
    account: AccountName,
    reserved: Usd,
    /// The day on which the turn has ended, and its cost.
    settled: Option<(NaiveDate, Usd)>,
}

/// The accounts, without clock and budgets.
#[derive(Debug, Default)]
struct Ledger {
    day: NaiveDate,
    total: Costs,
    users: HashMap<AccountName, Costs>,
    /// The turns that have no reservation yet, with the budgets of their accounts.
    queue: BTreeMap<u64, (AccountName, Option<Usd>)>,
    next_number: u64,
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

    /// Returns the account of a user.
    pub(crate) fn account(self: &Arc<Self>, caller: Option<&QueryCaller>) -> Account {
        let known = caller.filter(|caller| !caller.self_made);
        Account {
            spending: Arc::clone(self),
            name: known.map_or(AccountName::SelfMade, |it| {
                AccountName::User((*it.user).into())
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

impl Account {
    /// Reserves the expected cost of a turn. Waits while running turns may use up the budget.
    ///
    /// # Errors
    ///
    /// When a budget of today is used up, or running turns reserve the rest for too long.
    pub(crate) async fn reserve(&self, amount: Usd) -> Result<Reservation, AgentFailure> {
        let waited = timeout(MAX_WAIT, self.queue().reserve(amount)).await;
        waited.unwrap_or_else(|_| Err(budget_reserved()))
    }

    /// Adds a turn to the queue.
    fn queue(&self) -> WaitingTurn<'_> {
        let number = self.spending.update(|ledger| {
            let number = ledger.next_number;
            ledger.next_number += 1;
            let waiting = (self.name.clone(), self.budget);
            ledger.queue.insert(number, waiting);
            number
        });
        WaitingTurn {
            account: self,
            number,
        }
    }
}

impl WaitingTurn<'_> {
    async fn reserve(self, amount: Usd) -> Result<Reservation, AgentFailure> {
        loop {
            // It also receives what ends between the check and the wait.
            let changed = self.account.spending.changed.notified();
            if let Some(reservation) = self.try_reserve(today(), amount)? {
                return Ok(reservation);
            }
            tracing::debug!("a turn waits for those that may use up the budget");
            changed.await;
        }
    }

    /// Reserves the expected cost of the turn, unless running turns may use up the budget, or another
    /// turn is the next.
    fn try_reserve(
        &self,
        today: NaiveDate,
        amount: Usd,
    ) -> Result<Option<Reservation>, AgentFailure> {
        let Account {
            spending,
            name,
            budget,
        } = self.account;
        let of_all = spending.budgets.of_all();
        let account = spending.update(|ledger| {
            ledger.begin_day(today);
            let account = ledger.account(name);
            match (ledger.of(&account).room(*budget), ledger.total.room(of_all)) {
                (Room::UsedUp, _) => Err("your budget for today is used up"),
                (_, Room::UsedUp) => Err("the budget of all users for today is used up"),
                (Room::Free, Room::Free) if ledger.is_next(self.number, &account, of_all) => {
                    ledger.reserve(&account, amount);
                    Ok(Some(account))
                }
                _ => Ok(None),
            }
        });
        let account = account.map_err(budget_used_up)?;
        Ok(account.map(|account| Reservation {
            spending: Arc::clone(spending),
            account,
            reserved: amount,
            settled: None,
        }))
    }
}

impl Drop for WaitingTurn<'_> {
    fn drop(&mut self) {
        let spending = &self.account.spending;
        spending.update(|ledger| ledger.queue.remove(&self.number));
        spending.changed.notify_waiters();
    }
}

#[cfg(test)]
impl Account {
    /// Reserves the expected cost of a turn, unless it would have to wait.
    pub(crate) fn try_reserve(
        &self,
        today: NaiveDate,
        amount: Usd,
    ) -> Result<Option<Reservation>, AgentFailure> {
        self.queue().try_reserve(today, amount)
    }

    /// Returns what the user has spent today, and the expected cost of running turns.
    pub(crate) fn costs(&self) -> (Usd, Usd) {
        let Costs { spent, reserved } = self.spending.update(|ledger| ledger.of(&self.name));
        (spent, reserved)
    }
}

impl Reservation {
    /// Adds what the turn has cost to the account, on the day on which it has ended.
    pub(crate) fn settle(mut self, today: NaiveDate, cost: Usd) {
        self.settled = Some((today, cost));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.spending.update(|ledger| {
            let cost = self.settled.map_or_else(Usd::default, |(today, cost)| {
                ledger.begin_day(today);
                cost
            });
            ledger.settle(&self.account, self.reserved, cost);
        });
        self.spending.changed.notify_waiters();
    }
}

impl Ledger {
    /// Empties the accounts when a day begins. A clock that is set back over midnight does not, and the
    /// day does not begin again. A clock that was days ahead is corrected without it.
    fn begin_day(&mut self, today: NaiveDate) {
        if today > self.day {
            self.day = today;
            self.total.spent = Usd::default();
            self.users.retain(|_, costs| {
                costs.spent = Usd::default();
                costs.reserved > Usd::default()
            });
        } else if self.day.signed_duration_since(today).num_days() > 1 {
            self.day = today;
        }
    }

    /// Returns the account of users with this name.
    fn account(&self, name: &AccountName) -> AccountName {
        match name {
            AccountName::User(_)
                if !self.users.contains_key(name) && self.users.len() >= MAX_USERS =>
            {
                AccountName::Others
            }
            name => name.clone(),
        }
    }

    fn of(&self, account: &AccountName) -> Costs {
        self.users.get(account).copied().unwrap_or_default()
    }

    /// Whether no turn that came earlier waits for the same: for the budget of the account, or only for
    /// that of all.
    fn is_next(&self, number: u64, account: &AccountName, of_all: Option<Usd>) -> bool {
        self.queue.range(..number).all(|(_, (name, budget))| {
            let earlier = self.account(name);
            let waits_for_all = of_all.is_some() && self.of(&earlier).room(*budget) == Room::Free;
            earlier != *account && !waits_for_all
        })
    }

    fn reserve(&mut self, account: &AccountName, amount: Usd) {
        let own = self.users.entry(account.clone()).or_default();
        for costs in [own, &mut self.total] {
            costs.reserved = costs.reserved.saturating_add(amount);
        }
    }

    /// Ends a turn. Its cost counts on the day on which it ends.
    fn settle(&mut self, account: &AccountName, reserved: Usd, cost: Usd) {
        let own = self.users.entry(account.clone()).or_default();
        for costs in [own, &mut self.total] {
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
