//! The means of vectors that are alike.

use fearless_simd::{Level, dispatch};

/// The number of times that means and assignments are computed in turn.
const ROUNDS: usize = 4;

/// `count` means of vectors that are alike; `None` if nearly all are alike.
pub(super) fn means(vectors: &[Vec<f32>], count: usize) -> Option<Vec<Vec<f32>>> {
    // Any vectors will do to begin with.
    let stride = (vectors.len() / count).max(1);
    let mut means: Vec<_> = vectors
        .iter()
        .step_by(stride)
        .take(count)
        .cloned()
        .collect();
    let mut largest = 0;
    for _ in 0..ROUNDS {
        let mut sums = vec![vec![0.0; vectors.first()?.len()]; means.len()];
        let mut members = vec![0; means.len()];
        for vector in vectors {
            let nearest = nearest(vector, &means);
            members[nearest] += 1;
            add(&mut sums[nearest], vector);
        }
        largest = members.iter().copied().max()?;
        for ((mean, sum), members) in means.iter_mut().zip(sums).zip(members) {
            if members > 0 {
                *mean = normalised(sum);
            }
        }
    }
    (means.len() == count && largest <= vectors.len() / 4 * 3).then_some(means)
}

fn nearest(vector: &[f32], means: &[Vec<f32>]) -> usize {
    let dots = means.iter().map(|mean| dot(vector, mean));
    let nearest = dots.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    nearest.map_or(0, |(place, _)| place)
}

fn add(sum: &mut [f32], vector: &[f32]) {
    for (sum, x) in sum.iter_mut().zip(vector) {
        *sum += x;
    }
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = dot(&vector, &vector).sqrt();
    if norm > 0.0 {
        for x in &mut vector {
            *x /= norm;
        }
    }
    vector
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    dispatch!(Level::new(), _simd => dot_inlined(a, b))
}

#[expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]
#[inline(always)]
fn dot_inlined(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_different_kinds_get_means_of_their_own() {
        let vector = |n: u8| {
            let mut vector = vec![f32::from(n % 5) / 100.0; 4];
            vector[usize::from(n % 4)] = 1.0;
            vector
        };
        let vectors: Vec<_> = (0..200).map(vector).collect();
        let means = means(&vectors, 8).unwrap();
        for vector in &vectors {
            let mean = &means[nearest(vector, &means)];
            assert!(dot(vector, mean) > 0.99, "{vector:?} {mean:?}");
        }
    }

    #[test]
    fn equal_vectors_are_not_told_apart() {
        assert_eq!(means(&vec![vec![1.0, 2.0]; 100], 8), None);
        assert_eq!(means(&vec![vec![0.0, 0.0]; 100], 8), None);
        assert_eq!(means(&[], 8), None);
    }
}
