//! Random numbers from a seed, the same on every machine.

/// The SplitMix64 generator (Steele, Lea and Flood, 2014): small, and good enough to choose faults.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`; 0 when there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns a number between `min` and `max`, both included.
    pub(crate) fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
    }

    /// Returns true in `chance` of a hundred cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Returns a number in `0..1`, like JavaScript's `Math.random()`.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    /// Returns one of the choices.
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Returns a duration of at most `max` milliseconds: mostly short, sometimes long.
    pub(crate) fn span(&mut self, max: u64) -> u64 {
        let shift = self.below(8);
        self.below((max >> shift) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_all_of_them_come() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        let numbers: Vec<_> = (0..1000).map(|_| one.between(3, 7)).collect();
        assert!(numbers.iter().all(|number| *number == other.between(3, 7)));
        assert!((3..=7).all(|number| numbers.contains(&number)));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&one.fraction())));
    }
}
