use super::Z;

/// Passes among reviewed runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Runs whose review is a pass.
    pub passed: u64,
    /// Runs whose review is a fail.
    pub failed: u64,
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Rate {
    /// The number of runs.
    pub fn runs(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// The share of passes; `None` without runs.
    pub fn share(self) -> Option<f64> {
        (self.runs() > 0).then(|| number(self.passed) / number(self.runs()))
    }

    /// Wilson's score interval of the share; `None` without runs.
    pub fn interval(self) -> Option<Interval> {
        let share = self.share()?;
        let n = number(self.runs());
        let z2 = Z * Z;
        let middle = share + z2 / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let below = 1.0 + z2 / n;
        // Rounding must not leave [0, 1], nor exclude the share itself.
        Some(Interval {
            low: ((middle - half) / below).clamp(0.0, share),
            high: ((middle + half) / below).clamp(share, 1.0),
        })
    }
}

/// The difference `with - without` of two shares and its interval, by Newcombe's hybrid score method
/// (method 10 of Newcombe 1998, without continuity correction); `None` if either has no runs.
pub fn difference(with: Rate, without: Rate) -> Option<(f64, Interval)> {
    let (p, q) = (with.share()?, without.share()?);
    let (of_p, of_q) = (with.interval()?, without.interval()?);
    let middle = p - q;
    let low = middle - (p - of_p.low).hypot(of_q.high - q);
    let high = middle + (of_p.high - p).hypot(q - of_q.low);
    let interval = Interval {
        low: low.clamp(-1.0, middle),
        high: high.clamp(middle, 1.0),
    };
    Some((middle, interval))
}

/// How many more reviewed runs, of both arms together, are needed until the interval of the difference
/// has at most this half width, if runs keep coming in the proportion of the arms so far (or of `share`
/// without memories, as long as an arm is empty). Zero if it has.
///
/// An arm with fewer than ten runs counts as one with a pass rate of one half, the widest case.
pub fn more_runs_needed(with: Rate, without: Rate, half_width: f64, share: f64) -> u64 {
    let runs = number(with.runs() + without.runs());
    if let Some((_, interval)) = difference(with, without)
        && (interval.high - interval.low) / 2.0 <= half_width
    {
        return 0;
    }
    let part = if with.runs() == 0 || without.runs() == 0 {
        share.clamp(0.01, 0.99)
    } else {
        number(without.runs()) / runs
    };
    // The variance of the difference for n runs in all is spread / n, and Z * sqrt(spread / n) the half
    // width.
    let spread = variance(with) / (1.0 - part) + variance(without) / part;
    let needed = spread * (Z / half_width).powi(2);
    // The intervals are a little wider than the normal ones: at least one more is needed.
    whole((needed - runs).ceil().max(1.0))
}

/// The variance of one run.
fn variance(rate: Rate) -> f64 {
    match rate.share() {
        Some(_) if rate.runs() >= 10 => {
            // As if two passes and two fails had been seen as well: no arm is without variance.
            let share = (number(rate.passed) + 2.0) / (number(rate.runs()) + 4.0);
            share * (1.0 - share)
        }
        _ => 0.25,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are below 2^53")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float beyond the range becomes the end of it"
)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}
