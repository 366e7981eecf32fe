//! Rates of calls, such as 60 in a minute.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use serde::Deserialize;

/// The number of users that are tracked before those whose rate has recovered are forgotten.
const PRUNE_AT_USERS: usize = 4096;

/// A number of calls in a time, all of which may come at once: `60/m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Rate {
    calls: NonZeroU32,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
}

impl Unit {
    fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 60 * 60,
            Self::Day => 24 * 60 * 60,
        })
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "`{text}` is not a rate: write a number of calls and a unit, s, m, h or d: `60/m`"
            )
        };
        let (calls, unit) = text.split_once('/').ok_or_else(invalid)?;
        let calls = calls.trim().parse().map_err(|_| invalid())?;
        let unit = match unit.trim() {
            "s" => Unit::Second,
            "m" => Unit::Minute,
            "h" => Unit::Hour,
            "d" => Unit::Day,
            _ => return Err(invalid()),
        };
        Ok(Self { calls, unit })
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Rate {
    fn quota(self) -> Quota {
        let period = self.unit.duration() / self.calls.get();
        // The period is at least 1 ns for every number of calls, except beyond a thousand millions.
        let quota = Quota::with_period(period.max(Duration::from_nanos(1)));
        let quota = quota.unwrap_or(Quota::per_second(NonZeroU32::MIN));
        quota.allow_burst(self.calls)
    }
}

/// Limits the rate of the calls of each user.
#[derive(Debug)]
pub(crate) struct UserRateLimiter {
    limiter: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    /// The number of users at which those are forgotten whose rate has recovered.
    prune_at: AtomicUsize,
}

impl UserRateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            limiter: RateLimiter::keyed(rate.quota()),
            clock: DefaultClock::default(),
            prune_at: AtomicUsize::new(PRUNE_AT_USERS),
        }
    }

    /// Counts a call of a user. If the rate is exceeded, the call is not counted, and the time after
    /// which one is allowed is returned.
    pub(crate) fn check(&self, user: &str) -> Result<(), Duration> {
        if self.limiter.len() > self.prune_at.load(Ordering::Relaxed) {
            self.limiter.retain_recent();
            // Not each call looks at all users when very many call at the same time.
            let next = PRUNE_AT_USERS.max(2 * self.limiter.len());
            self.prune_at.store(next, Ordering::Relaxed);
        }
        let checked = self.limiter.check_key(&user.to_owned());
        checked.map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_unit() {
        for (text, calls, seconds) in [
            ("1/s", 1, 1),
            ("60/m", 60, 60),
            (" 5 / h ", 5, 3600),
            ("7/d", 7, 86_400),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(
                (rate.calls.get(), rate.unit.duration().as_secs()),
                (calls, seconds)
            );
        }
        for text in ["", "60", "0/m", "-1/m", "60/w", "x/m", "60/minute"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(error.contains("is not a rate"), "{error}");
        }
    }

    #[test]
    fn each_user_has_a_separate_rate() {
        let limiter = UserRateLimiter::new("2/h".parse().unwrap());
        assert_eq!(limiter.check("ada"), Ok(()));
        assert_eq!(limiter.check("ada"), Ok(()));
        let wait = limiter.check("ada").unwrap_err();
        assert!(wait > Duration::from_secs(1700), "{wait:?}");
        assert_eq!(limiter.check("bob"), Ok(()));
    }

    #[test]
    fn the_users_that_are_tracked_are_bounded_by_those_that_have_called_lately() {
        let limiter = UserRateLimiter::new("1000000/s".parse().unwrap());
        for user in 0..3 * PRUNE_AT_USERS {
            assert_eq!(limiter.check(&user.to_string()), Ok(()));
        }
        assert!(limiter.limiter.len() <= PRUNE_AT_USERS + 1);
    }
}
