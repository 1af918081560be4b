//! Randomness from a seed: the same parts give the same numbers, whatever else happens in the run.

/// A stream of numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A stream for these parts; another part is another stream.
    pub(super) fn of(parts: &[u64]) -> Self {
        let mut random = Self(0x243f_6a88_85a3_08d3);
        for part in parts {
            random.0 ^= part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            random.0 = random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        // A counter whose bits are mixed; every state has a different successor.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to `n`, without `n`; 0 when there is nothing to choose from.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    /// From the least to the most, both included.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least.saturating_add(self.below(most.saturating_sub(least).saturating_add(1)))
    }

    /// Whether something of this probability happens.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.share() < share
    }

    /// One in so many.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// From a normal distribution with mean 0 and deviation 1.
    pub(super) fn normal(&mut self) -> f64 {
        let (first, second) = (1.0 - self.share(), self.share());
        (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
    }
}

/// A number that stands for a text in a seed.
pub(super) fn key_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |key, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parts_give_the_same_numbers_and_others_do_not() {
        let numbers = |parts: &[u64]| (0..4).scan(Random::of(parts), |r, _| Some(r.below(1_000))).collect::<Vec<_>>();
        assert_eq!(numbers(&[1, 2]), numbers(&[1, 2]));
        assert_ne!(numbers(&[1, 2]), numbers(&[2, 1]));
        assert_ne!(numbers(&[1]), numbers(&[1, 0]));
    }

    #[test]
    fn a_normal_number_has_mean_nothing_and_deviation_one() {
        let mut random = Random::of(&[7]);
        let numbers: Vec<f64> = (0..4_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 4_000.0;
        let variance = numbers.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 4_000.0;
        assert!(mean.abs() < 0.06 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
    }
}
