//! Latencies: how long the service thinks before it answers.

/// Longest latency, so that nothing hangs that is not meant to.
const LONGEST_MS: f64 = 600_000.0;

/// How long the service thinks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always so many milliseconds.
    Fixed(u64),
    /// Milliseconds that are lognormally distributed; the same for the same seed.
    Lognormal {
        /// Median in milliseconds.
        median_ms: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Seed.
        seed: u64,
    },
}

impl Latency {
    /// Reads `slow-MS` and `lognormal-MEDIAN-SIGMA[-SEED]`; none for a word that is neither.
    pub fn parse(word: &str) -> Option<Self> {
        if let Some(ms) = word.strip_prefix("slow-") {
            return ms.parse().ok().filter(|ms| *ms as f64 <= LONGEST_MS).map(Self::Fixed);
        }
        let numbers: Vec<&str> = word.strip_prefix("lognormal-")?.split('-').collect();
        let positive = |text: &&str| text.parse::<f64>().ok().filter(|number| (0.0..=LONGEST_MS).contains(number));
        let (median_ms, sigma) = (positive(numbers.first()?)?, positive(numbers.get(1)?)?);
        let seed = match numbers.get(2..)? {
            [] => 1,
            [seed] => seed.parse().ok()?,
            _ => return None,
        };
        Some(Self::Lognormal { median_ms, sigma, seed })
    }

    /// Milliseconds for the request of this index, from 0.
    pub fn ms(self, index: u64) -> u64 {
        match self {
            Self::Fixed(ms) => ms,
            Self::Lognormal { median_ms, sigma, seed } => {
                let ms = median_ms * (sigma * normal(seed, index)).exp();
                ms.min(LONGEST_MS).round() as u64
            }
        }
    }
}

/// A standard normal number, by the method of Box and Muller.
fn normal(seed: u64, index: u64) -> f64 {
    let uniform = |salt: u64| {
        let bits = mix(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix(index.wrapping_mul(2).wrapping_add(salt)));
        ((bits >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    };
    (-2.0 * uniform(0).ln()).sqrt() * (std::f64::consts::TAU * uniform(1)).cos()
}

/// The finalizer of SplitMix64: every bit of the number decides about every bit of the result.
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lognormal_latencies_have_their_median_and_their_spread() {
        let latency = Latency::parse("lognormal-800-0.5-7").unwrap();
        let mut all: Vec<u64> = (0..10_001).map(|index| latency.ms(index)).collect();
        all.sort_unstable();
        let near = |at: usize, wanted: f64| (all[at] as f64 / wanted - 1.0).abs() < 0.05;
        assert!(near(5_000, 800.0), "{}", all[5_000]);
        // One standard deviation above the median.
        assert!(near(8_413, 800.0 * 0.5f64.exp()), "{}", all[8_413]);
    }

    #[test]
    fn a_seed_gives_the_same_latencies_again() {
        let of = |word: &str| (0..20).map(|index| Latency::parse(word).unwrap().ms(index)).collect::<Vec<_>>();
        assert_eq!(of("lognormal-100-1"), of("lognormal-100-1-1"));
        assert_ne!(of("lognormal-100-1"), of("lognormal-100-1-2"));
        assert_eq!(of("slow-20"), [20; 20]);
    }

    #[test]
    fn what_is_no_latency_is_none() {
        for word in
            ["slow-", "slow-1e99", "slow-9999999999", "lognormal-5", "lognormal-5-NaN", "lognormal-1-1-1-1", "x"]
        {
            assert_eq!(Latency::parse(word), None, "{word}");
        }
    }
}
