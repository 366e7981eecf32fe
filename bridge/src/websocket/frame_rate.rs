//! The rate of frames that a connection may send: a token bucket as plain data.

use std::time::Duration;

use tokio::time::Instant;

/// A connection that has used up its rate gets further frames this many times per second, so that
/// waiting costs few timers.
const GRANTS_PER_SECOND: u32 = 100;

/// The largest number of frames that is granted at once to a connection that has used up its rate.
const MAX_GRANT: u32 = 64;

/// Limits the frames of one connection to a number per second.
///
/// The frames of one second may come at once. The credit is filled up only when it is used up, so
/// that the clock is read rarely. After a silence, up to two seconds' worth of frames may therefore
/// come at once.
#[derive(Debug)]
pub(super) struct FrameRate {
    per_second: u32,
    /// The number of frames that may come before the clock is read.
    credit: u32,
    /// The time up to which frames have been credited.
    credited_until: Instant,
}

impl FrameRate {
    /// Creates a limit with the credit of one second. `per_second` is at least 1.
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = per_second.max(1);
        Self {
            per_second,
            credit: per_second,
            credited_until: now,
        }
    }

    /// Takes up to `max` frames out of the credit. Reads the clock only if there is no credit.
    ///
    /// # Errors
    ///
    /// Returns when there will be credit, if there is none yet.
    pub(super) fn take(
        &mut self,
        max: u32,
        clock: impl FnOnce() -> Instant,
    ) -> Result<u32, Instant> {
        if self.credit == 0 {
            self.refill(clock())?;
        }
        let taken = self.credit.min(max);
        self.credit -= taken;
        Ok(taken)
    }

    fn refill(&mut self, now: Instant) -> Result<(), Instant> {
        let elapsed = now.saturating_duration_since(self.credited_until);
        let earned = elapsed.as_nanos() * u128::from(self.per_second) / NANOS_PER_SECOND;
        let grant = (self.per_second / GRANTS_PER_SECOND).clamp(1, MAX_GRANT);
        if earned < u128::from(grant) {
            return Err(self.credited_until + self.time_for(grant));
        }
        if earned >= u128::from(self.per_second) {
            self.credit = self.per_second;
            self.credited_until = now;
        } else {
            // Less than `per_second`, which is a u32.
            self.credit = earned as u32;
            self.credited_until += self.time_for(self.credit);
        }
        Ok(())
    }

    /// Returns the time in which this many frames are earned.
    fn time_for(&self, frames: u32) -> Duration {
        let nanos = u128::from(frames) * NANOS_PER_SECOND;
        let nanos = nanos.div_ceil(u128::from(self.per_second));
        // At most one second, because there are at most `per_second` frames.
        Duration::from_nanos(nanos as u64)
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Takes frames one turn after the other until `until`, waiting as long as the limit demands.
    fn taken(rate: &mut FrameRate, max: u32, start: Instant, until: Instant) -> u64 {
        let mut now = start;
        let mut taken = 0;
        while now < until {
            match rate.take(max, || now) {
                Ok(frames) => taken += u64::from(frames),
                Err(later) => {
                    assert!(later > now);
                    now = later;
                }
            }
        }
        taken
    }

    #[test]
    fn a_flood_gets_the_rate_and_one_burst() {
        let start = Instant::now();
        for per_second in [1, 3, 99, 1_000, 20_000, 1_000_000] {
            let mut rate = FrameRate::new(per_second, start);
            let frames = taken(&mut rate, 64, start, start + 10 * SECOND);
            let expected = u64::from(per_second) * 11;
            let grant = u64::from(MAX_GRANT) + 1;
            assert!(
                (expected.saturating_sub(grant)..=expected).contains(&frames),
                "{per_second} per second: {frames}"
            );
        }
    }

    #[test]
    fn frames_below_the_rate_never_wait() {
        let start = Instant::now();
        let mut rate = FrameRate::new(1_000, start);
        for n in 0..10_000 {
            let now = start + SECOND * n / 1_000;
            assert_eq!(rate.take(1, || now), Ok(1), "{n}");
        }
    }

    #[test]
    fn a_silence_earns_at_most_a_second_of_frames() {
        let start = Instant::now();
        let mut rate = FrameRate::new(1_000, start);
        assert_eq!(rate.take(999, || unreachable!()), Ok(999));
        let later = start + 3600 * SECOND;
        let frames = taken(&mut rate, u32::MAX, later, later + Duration::from_nanos(1));
        assert_eq!(frames, 1_001);
    }

    #[test]
    fn the_clock_is_read_only_when_the_credit_is_used_up() {
        let start = Instant::now();
        let mut rate = FrameRate::new(20_000, start);
        let mut reads = 0;
        for _ in 0..60_000 {
            let now = start + 100 * SECOND;
            let taken = rate.take(1, || {
                reads += 1;
                now
            });
            if taken.is_err() {
                break;
            }
        }
        // One read fills the credit, and the next one finds that nothing has been earned since.
        assert_eq!(reads, 2);
    }
}
