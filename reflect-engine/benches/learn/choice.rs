//! The choice of memories by a number.

/// The number of memories of a run.
pub(crate) const LIMIT: usize = 3;

/// The places of the highest values that reach the floor.
pub(crate) fn best(values: impl Iterator<Item = f64>, floor: f64) -> Vec<usize> {
    let mut best: Vec<_> = (0..)
        .zip(values)
        .filter(|(_, value)| *value >= floor)
        .collect();
    best.sort_by(|(a, x), (b, y): &(usize, f64)| y.total_cmp(x).then(a.cmp(b)));
    best.into_iter()
        .take(LIMIT)
        .map(|(place, _)| place)
        .collect()
}
