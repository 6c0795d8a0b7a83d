//! Repeatable random numbers, so that policies meet the same luck.

/// The generator `SplitMix64`.
pub(crate) struct Random(u64);

impl Random {
    /// A stream of its own for every list of numbers.
    pub(crate) fn new(seeds: &[u64]) -> Self {
        let mut random = Self(0x5eed);
        for seed in seeds {
            random.0 = random.next() ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.share().max(1e-300), self.share());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let below = end as u64 + 1;
            let other = usize::try_from(self.next() % below).expect("an index");
            items.swap(end, other);
        }
    }
}
