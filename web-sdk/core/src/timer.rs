//! The page's clock, and its only timer, which serves the connection and the token.

use super::effect::{Effect, Effects};

/// The longest wait in milliseconds: browsers do not wait at all when the time is too long. Longer
/// waits are split.
const MAX_TIMER_MS: u64 = 1_000_000_000;

/// A monotonic clock. When the wall clock is set back, this clock only misses the time that passed
/// between two events.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The wall clock at the latest event, in milliseconds since the Unix epoch.
    pub(super) wall_ms: u64,
    /// The monotonic time of the latest event, in milliseconds.
    pub(super) now_ms: u64,
}

impl Clock {
    pub(super) fn advance_to(&mut self, wall_ms: u64) {
        self.now_ms += wall_ms.saturating_sub(self.wall_ms);
        self.wall_ms = wall_ms;
    }
}

/// The deadlines of the page, on its monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Timer {
    /// When the next attempt starts, or when the current attempt or the silent connection fails,
    /// depending on the phase.
    pub(super) connection: Option<u64>,
    /// When the token is renewed.
    pub(super) renewal: Option<u64>,
    /// When the browser's timer fires.
    fires_at: Option<u64>,
}

impl Timer {
    /// The browser's timer has fired, possibly a moment too early. Returns false if it was stopped
    /// before.
    pub(super) fn fired(&mut self, clock: &mut Clock) -> bool {
        let Some(fires_at) = self.fires_at.take() else {
            return false;
        };
        clock.now_ms = clock.now_ms.max(fires_at);
        true
    }

    /// Sets the browser's timer to the next deadline. After a deadline was only extended, this call
    /// is not needed: the timer then fires too early, and nothing is due.
    pub(super) fn schedule<J>(&mut self, now_ms: u64, effects: &mut Effects<J>) {
        let next = [self.connection, self.renewal].into_iter().flatten().min();
        let next = next.map(|at| at.min(now_ms + MAX_TIMER_MS));
        if next == self.fires_at {
            return;
        }
        self.fires_at = next;
        effects.push(match next {
            Some(at) => Effect::SetTimer(at.saturating_sub(now_ms) as u32),
            None => Effect::StopTimer,
        });
    }
}

/// Returns whether the deadline has passed, and clears it if so.
pub(super) fn take_if_due(deadline: &mut Option<u64>, now_ms: u64) -> bool {
    deadline.take_if(|at| *at <= now_ms).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(timer: &mut Timer, now_ms: u64) -> Option<Effect<()>> {
        let mut effects = Effects::new();
        timer.schedule(now_ms, &mut effects);
        effects.next()
    }

    #[test]
    fn the_timer_is_set_to_the_earlier_deadline() {
        let mut timer = Timer::default();
        assert_eq!(schedule(&mut timer, 100), None);
        timer.connection = Some(150);
        assert_eq!(schedule(&mut timer, 100), Some(Effect::SetTimer(50)));
        timer.renewal = Some(120);
        assert_eq!(schedule(&mut timer, 100), Some(Effect::SetTimer(20)));
        assert_eq!(schedule(&mut timer, 110), None, "it is set already");
        assert!(take_if_due(&mut timer.renewal, 120) && timer.renewal.is_none());
        assert!(!take_if_due(&mut timer.connection, 149));
        timer.connection = None;
        assert_eq!(schedule(&mut timer, 120), Some(Effect::StopTimer));
    }

    #[test]
    fn a_timer_that_fires_early_counts_as_due() {
        let mut clock = Clock::default();
        let mut timer = Timer::default();
        assert!(!timer.fired(&mut clock));
        clock.advance_to(1000);
        timer.connection = Some(1050);
        schedule(&mut timer, clock.now_ms);
        clock.advance_to(1049);
        assert!(timer.fired(&mut clock));
        assert!(take_if_due(&mut timer.connection, clock.now_ms));
    }

    #[test]
    fn long_waits_are_split() {
        let mut timer = Timer {
            renewal: Some(u64::MAX),
            ..Timer::default()
        };
        let step = Effect::SetTimer(MAX_TIMER_MS as u32);
        assert_eq!(schedule(&mut timer, 0), Some(step.clone()));
        let mut clock = Clock::default();
        assert!(timer.fired(&mut clock));
        assert_eq!(schedule(&mut timer, clock.now_ms), Some(step));
    }

    #[test]
    fn the_clock_is_monotonic_when_the_wall_clock_is_set_back() {
        let mut clock = Clock::default();
        clock.advance_to(10_000);
        clock.advance_to(5_000);
        clock.advance_to(5_700);
        assert_eq!((clock.wall_ms, clock.now_ms), (5_700, 10_700));
    }
}
