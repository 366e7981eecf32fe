//! The page's clock and its one timer, which serves two purposes: the connection and its token.

use super::effect::{Effect, Effects};

/// Browsers take a longer wait for none: it is cut into several.
const LONGEST_MS: u64 = 1_000_000_000;

/// Time as the page has lived through it. It never goes back: when the wall clock is set back, the page
/// loses what passed between two events, and nothing else.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Milliseconds since the Unix epoch, as the page was told last.
    pub(super) wall_ms: u64,
    pub(super) now_ms: u64,
}

impl Clock {
    pub(super) fn at(&mut self, wall_ms: u64) {
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
    set: Option<u64>,
}

impl Timer {
    /// The browser's timer has fired, perhaps a moment early. Nothing if it was stopped.
    pub(super) fn fired(&mut self, clock: &mut Clock) -> bool {
        let Some(set) = self.set.take() else {
            return false;
        };
        clock.now_ms = clock.now_ms.max(set);
        true
    }

    /// Sets the browser's timer to what is next. Not needed when something was put off: then the timer
    /// fires early, and nothing is due.
    pub(super) fn set<V>(&mut self, now_ms: u64, effects: &mut Effects<V>) {
        let next = [self.connection, self.renewal].into_iter().flatten().min();
        let next = next.map(|at| at.min(now_ms + LONGEST_MS));
        if next == self.set {
            return;
        }
        self.set = next;
        effects.push(match next {
            Some(at) => Effect::SetTimer(at.saturating_sub(now_ms) as u32),
            None => Effect::StopTimer,
        });
    }
}

/// Whether the moment has come. It is over then.
pub(super) fn is_due(moment: &mut Option<u64>, now_ms: u64) -> bool {
    moment.take_if(|at| *at <= now_ms).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(timer: &mut Timer, now_ms: u64) -> Option<Effect<()>> {
        let mut effects = Effects::new();
        timer.set(now_ms, &mut effects);
        effects.next()
    }

    #[test]
    fn the_earlier_of_two_purposes_is_next() {
        let mut timer = Timer::default();
        assert_eq!(set(&mut timer, 100), None);
        timer.connection = Some(150);
        assert_eq!(set(&mut timer, 100), Some(Effect::SetTimer(50)));
        timer.renewal = Some(120);
        assert_eq!(set(&mut timer, 100), Some(Effect::SetTimer(20)));
        assert_eq!(set(&mut timer, 110), None, "it is set already");
        assert!(is_due(&mut timer.renewal, 120) && timer.renewal.is_none());
        assert!(!is_due(&mut timer.connection, 149));
        timer.connection = None;
        assert_eq!(set(&mut timer, 120), Some(Effect::StopTimer));
    }

    #[test]
    fn a_timer_that_fires_early_is_on_time() {
        let mut clock = Clock::default();
        let mut timer = Timer::default();
        assert!(!timer.fired(&mut clock));
        clock.at(1000);
        timer.connection = Some(1050);
        set(&mut timer, clock.now_ms);
        clock.at(1049);
        assert!(timer.fired(&mut clock));
        assert!(is_due(&mut timer.connection, clock.now_ms));
    }

    #[test]
    fn years_are_waited_for_in_steps() {
        let mut timer = Timer {
            renewal: Some(u64::MAX),
            ..Timer::default()
        };
        let step = Effect::SetTimer(LONGEST_MS as u32);
        assert_eq!(set(&mut timer, 0), Some(step.clone()));
        let mut clock = Clock::default();
        assert!(timer.fired(&mut clock));
        assert_eq!(set(&mut timer, clock.now_ms), Some(step));
    }

    #[test]
    fn a_clock_that_is_set_back_loses_a_moment() {
        let mut clock = Clock::default();
        clock.at(10_000);
        clock.at(5_000);
        clock.at(5_700);
        assert_eq!((clock.wall_ms, clock.now_ms), (5_700, 10_700));
    }
}
