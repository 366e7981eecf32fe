//! Tests of accounts and budgets.

use bridge_protocol::SessionId;
use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn caller(user: &str, role: &str, self_made: bool) -> QueryCaller {
    QueryCaller {
        user: user.to_owned(),
        sub: None,
        roles: vec![role.to_owned()],
        self_made,
        app: String::new(),
        app_description: None,
        origin: None,
        session: SessionId::from("s"),
    }
}

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars)
}

fn day(number: u64) -> NaiveDate {
    NaiveDate::default() + chrono::Days::new(number)
}

fn spending() -> Arc<DailySpending> {
    Arc::new(DailySpending::new(BudgetSettings {
        daily_budget: Some(1.0),
        daily_role_budgets: vec!["staff=5".parse().unwrap()],
        daily_total_budget: Some(8.0),
    }))
}

/// Runs a turn of this cost.
fn spend(account: &Account, today: NaiveDate, cost: f64) {
    let reservation = account.try_reserve(today, usd(cost)).unwrap();
    reservation.unwrap().settle(today, usd(cost));
}

fn check(account: &Account, today: NaiveDate) -> Result<(), AgentFailure> {
    account.try_reserve(today, Usd::default()).map(drop)
}

#[test]
fn a_user_has_the_budget_of_a_day() {
    let spending = spending();
    let [guest, staff] = ["guest", "staff"]
        .map(|role| spending.account(BridgeId::default(), Some(&caller(role, role, false))));
    for account in [&guest, &staff] {
        spend(account, day(1), 1.0);
    }
    let failure = check(&guest, day(1)).unwrap_err();
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
    assert!(!failure.to_string().contains('1'), "no amounts: {failure}");
    check(&staff, day(1)).unwrap();
    check(&guest, day(2)).expect("a new day");
}

#[test]
fn users_without_an_issuer_share_one_account_and_all_share_a_total() {
    let spending = spending();
    let made = |user| spending.account(BridgeId::default(), Some(&caller(user, "staff", true)));
    spend(&made("a"), day(1), 1.0);
    assert!(check(&made("b"), day(1)).is_err());
    assert!(check(&spending.account(BridgeId::default(), None), day(1)).is_err());
    let of_another_bridge = spending.account(BridgeId::SECOND, Some(&caller("a", "staff", true)));
    check(&of_another_bridge, day(1)).unwrap();
    let staff = |user| spending.account(BridgeId::default(), Some(&caller(user, "staff", false)));
    for user in ["a", "b"] {
        spend(&staff(user), day(1), 4.0);
    }
    let failure = check(&staff("c"), day(1)).unwrap_err();
    assert!(failure.message.contains("all users"), "{failure}");
}

#[test]
fn users_beyond_the_limit_are_one() {
    let mut ledger = Ledger::default();
    let first = BridgeId::default();
    let user = |name: &str| AccountName::User(first, name.into());
    for number in 0..MAX_USERS {
        let account = ledger.account(&user(&number.to_string()));
        ledger.settle(&account, Usd::default(), usd(1.0));
    }
    let accounts = [user("a"), user("b")].map(|name| ledger.account(&name));
    assert_eq!(accounts, [first, first].map(AccountName::Others));
    let of_second = AccountName::User(BridgeId::SECOND, "c".into());
    let of_second = ledger.account(&of_second);
    assert_eq!(of_second, AccountName::Others(BridgeId::SECOND));
    // Neither those that were there before nor pages with self-made tokens share it.
    for name in [user("0"), AccountName::SelfMade(first)] {
        assert_eq!(ledger.account(&name), name);
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_empty_the_accounts() {
    let spending = spending();
    let guest = spending.account(BridgeId::default(), Some(&caller("guest", "guest", false)));
    spend(&guest, day(10), 1.0);
    for today in [9, 10, 9, 10] {
        assert!(check(&guest, day(today)).is_err(), "{today}");
    }
    check(&guest, day(11)).expect("a new day");

    // A clock that was far ahead must not keep the accounts for years.
    spend(&guest, day(5000), 1.0);
    assert!(check(&guest, day(12)).is_err());
    check(&guest, day(13)).expect("a new day");
}

#[tokio::test]
async fn a_turn_waits_for_those_that_may_use_up_the_budget() {
    let spending = spending();
    let guest = spending.account(BridgeId::default(), Some(&caller("guest", "guest", false)));
    let first = guest.reserve(usd(1.0)).await.unwrap();
    let mut second = Box::pin(guest.reserve(usd(1.0)));
    assert!((&mut second).now_or_never().is_none());
    // Others have their own budgets.
    drop(
        spending
            .account(BridgeId::default(), Some(&caller("staff", "staff", false)))
            .reserve(usd(1.0))
            .await
            .unwrap(),
    );
    assert!((&mut second).now_or_never().is_none());
    first.settle(today(), usd(0.1));
    let second = second.await.expect("most of the budget is left");

    let mut third = Box::pin(guest.reserve(usd(1.0)));
    assert!((&mut third).now_or_never().is_none());
    second.settle(today(), usd(0.9));
    let failure = third.await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
}

#[test]
fn a_turn_over_midnight_costs_on_the_new_day() {
    let spending = spending();
    let guest = spending.account(BridgeId::default(), Some(&caller("guest", "guest", false)));
    let turn = guest.try_reserve(day(1), usd(1.0)).unwrap().unwrap();
    turn.settle(day(2), usd(1.0));
    assert!(check(&guest, day(2)).is_err());
    check(&guest, day(3)).expect("a new day");
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_long() {
    let spending = spending();
    let guest = spending.account(BridgeId::default(), Some(&caller("guest", "guest", false)));
    let first = guest.reserve(usd(1.0)).await.unwrap();
    let started = tokio::time::Instant::now();
    let failure = guest.reserve(usd(1.0)).await.unwrap_err();
    assert_eq!(started.elapsed(), MAX_WAIT);
    assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
    assert!(failure.message.contains("at the moment"), "{failure}");
    assert_eq!(failure.remedy.as_deref(), Some("try again"));
    // It has left the queue.
    drop(first);
    guest.reserve(usd(1.0)).await.unwrap();
}

#[tokio::test]
async fn turns_are_served_in_their_order_but_not_behind_the_many_of_another_user() {
    let spending = spending();
    let account = |user| spending.account(BridgeId::default(), Some(&caller(user, "staff", false)));
    let running = [account("c"), account("d")];
    let [first, second] = running.each_ref().map(|it| it.reserve(usd(4.0)));
    let running = (first.await.unwrap(), second.await.unwrap());
    let (many, other) = (account("many"), account("other"));
    let mut many = [(); 3].map(|()| Box::pin(many.reserve(usd(0.5))));
    for turn in &mut many {
        assert!(turn.now_or_never().is_none());
    }
    let mut other = Box::pin(other.reserve(usd(0.5)));
    assert!((&mut other).now_or_never().is_none());
    drop(running);
    let [first, second, third] = &mut many;
    for later in [&mut *third, second, &mut other] {
        assert!(later.now_or_never().is_none(), "it is not the first");
    }
    first.now_or_never().expect("it is the first").unwrap();
    other.now_or_never().expect("one is before it").unwrap();
    assert!(third.now_or_never().is_none(), "one is before it");
    second.now_or_never().expect("it is the next").unwrap();
    third.now_or_never().expect("none is before it").unwrap();
}

#[tokio::test]
async fn a_turn_that_releases_its_reservation_costs_and_delays_no_other() {
    let spending = spending();
    let guest = spending.account(BridgeId::default(), Some(&caller("guest", "guest", false)));
    let mut first = guest.reserve(usd(1.0)).await.unwrap();
    let mut second = Box::pin(guest.reserve(usd(0.5)));
    assert!((&mut second).now_or_never().is_none());
    first.release();
    second.await.unwrap().settle(today(), usd(0.25));
    first.settle(today(), usd(0.5));
    assert_eq!(guest.costs(), (usd(0.75), Usd::default()));
}

#[tokio::test]
async fn a_turn_that_waits_for_its_own_budget_does_not_delay_other_users() {
    let spending = spending();
    let [a, b] = ["a", "b"]
        .map(|user| spending.account(BridgeId::default(), Some(&caller(user, "guest", false))));
    let _running = a.reserve(usd(1.0)).await.unwrap();
    let mut waiting = Box::pin(a.reserve(usd(0.5)));
    assert!((&mut waiting).now_or_never().is_none());
    b.reserve(usd(0.5))
        .now_or_never()
        .expect("it does not wait")
        .unwrap();
}

/// An event of an account, or of the clock.
#[derive(Clone, Debug)]
enum Step {
    /// A turn of this user begins if the budget allows it. It may cost this many millionths.
    Begin { user: usize, amount: u64 },
    /// One of the running turns ends, for this many percent of its reserved cost.
    End { turn: usize, percent: u64 },
    /// The clock is set to this day.
    Clock { day: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 0..600_000_u64).prop_map(|(user, amount)| Step::Begin { user, amount }),
        4 => (0..20_usize, 0..=100_u64).prop_map(|(turn, percent)| Step::End { turn, percent }),
        1 => (0..4_u64).prop_map(|day| Step::Clock { day }),
    ]
}

fn millionths(amount: Usd) -> u64 {
    (amount.dollars() * 1e6).round() as u64
}

proptest! {
    #[test]
    fn parallel_turns_exceed_a_budget_by_less_than_one_turn(steps in vec(step(), 0..80)) {
        let budget = usd(1.0);
        let spending = Arc::new(DailySpending::new(BudgetSettings {
            daily_budget: Some(1.0),
            daily_role_budgets: Vec::new(),
            daily_total_budget: Some(2.0),
        }));
        let users = ["a", "b", "c"].map(|user| {
            spending.account(BridgeId::default(), Some(&caller(user, "", false)))
        });
        let mut today = day(0);
        let mut running: Vec<Reservation> = Vec::new();
        for step in steps {
            match step {
                Step::Begin { user, amount } => {
                    let amount = usd(amount as f64 / 1e6);
                    running.extend(users[user].try_reserve(today, amount).unwrap_or_default());
                }
                Step::End { turn, percent } if !running.is_empty() => {
                    let turn = running.swap_remove(turn % running.len());
                    let cost = millionths(turn.reserved) * percent / 100;
                    turn.settle(today, usd(cost as f64 / 1e6));
                }
                Step::End { .. } => {}
                Step::Clock { day: number } => today = day(number),
            }
            spending.update(|ledger| {
                let sum = |count: fn(&Costs) -> Usd| {
                    let users = ledger.users.values().map(|user| count(&user.costs));
                    users.fold(Usd::default(), Usd::saturating_add)
                };
                assert_eq!(sum(|it| it.spent), ledger.total.spent);
                assert_eq!(sum(|it| it.reserved), ledger.total.reserved);
                let reserved = running.iter().map(|turn| turn.reserved);
                let reserved = reserved.fold(Usd::default(), Usd::saturating_add);
                assert_eq!(reserved, ledger.total.reserved);
                for UserAccount { costs, .. } in ledger.users.values() {
                    let most = costs.spent.saturating_add(costs.reserved);
                    assert!(most < budget.saturating_add(usd(0.6)), "{ledger:?}");
                }
                assert!(ledger.total.spent < usd(2.6), "{ledger:?}");
            });
        }
        drop(running);
        spending.update(|ledger| assert_eq!(ledger.total.reserved, Usd::default()));
    }
}
