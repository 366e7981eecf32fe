//! The page's clock and its one timer, which serves two purposes: the connection and its token.

use super::effect::{Effect, Effects};

/// Browsers take a longer wait for none: it is cut into several.
const MAX_TIMER_MS: u64 = 1_000_000_000;

/// Time as the page has lived through it. It never goes back: when the wall clock is set back, the page
/// loses what passed between two events, and nothing else.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Milliseconds since the Unix epoch, as the page was told last.
    pub(super) wall_ms: u64,
    pub(super) now_ms: u64,
}

impl Clock {
    pub(super) fn advance_to(&mut self, wall_ms: u64) {
        self.now_ms += wall_ms.saturating_sub(self.wall_ms);
        self.wall_ms = wall_ms;
    }
}

/// When the page must act, on its own clock.
#[derive(Debug, Default)]
pub(super) struct Timer {
    /// By phase: the next attempt starts, or the attempt or the silent connection is given up.
    pub(super) connection: Option<u64>,
    /// A fresh token is due.
    pub(super) renewal: Option<u64>,
    /// When the browser's timer fires.
    fires_at: Option<u64>,
}

impl Timer {
    /// The browser's timer has fired, perhaps a moment early. Nothing if it was stopped.
    pub(super) fn fired(&mut self, clock: &mut Clock) -> bool {
        let Some(set) = self.fires_at.take() else {
            return false;
        };
        clock.now_ms = clock.now_ms.max(set);
        true
    }

    /// Sets the browser's timer to what is next. Not needed when something was put off: then the timer
    /// fires early, and nothing is due.
    pub(super) fn schedule<V>(&mut self, now_ms: u64, effects: &mut Effects<V>) {
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

/// Whether the moment has come. It is over then.
pub(super) fn take_if_due(moment: &mut Option<u64>, now_ms: u64) -> bool {
    moment.take_if(|at| *at <= now_ms).is_some()
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
    fn the_earlier_of_two_purposes_is_next() {
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
    fn a_clock_that_is_set_back_loses_a_moment() {
        let mut clock = Clock::default();
        clock.advance_to(10_000);
        clock.advance_to(5_000);
        clock.advance_to(5_700);
        assert_eq!((clock.wall_ms, clock.now_ms), (5_700, 10_700));
    }
}
