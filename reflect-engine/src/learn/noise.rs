//! The share of reviews that are wrong.

/// The shares that are considered.
const SHARES: [f64; 7] = [0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3];

/// How well each share explains the reviews so far.
pub(super) struct Noise {
    logs: [f64; SHARES.len()],
    share: f64,
}

impl Noise {
    pub(super) fn new() -> Self {
        Self {
            logs: [0.0; SHARES.len()],
            share: 0.1,
        }
    }

    /// The posterior mean of the share.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Counts a review of this weight whose verdict was predicted with this probability.
    pub(super) fn observe(&mut self, probability: f64, weight: f64) {
        for (log, share) in self.logs.iter_mut().zip(SHARES) {
            *log += weight * seen(probability, share).ln();
        }
        let most = self.logs.iter().copied().fold(f64::MIN, f64::max);
        let weights = self.logs.map(|log| (log - most).exp());
        let sum: f64 = weights.iter().sum();
        let mean: f64 = weights.iter().zip(SHARES).map(|(w, share)| w * share).sum();
        self.share = mean / sum;
    }
}

/// The probability that a verdict is reviewed as it was, where the verdict has this probability.
pub(super) fn seen(probability: f64, wrong: f64) -> f64 {
    wrong + (1.0 - 2.0 * wrong) * probability
}
