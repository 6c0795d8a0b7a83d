//! An embedder for tests that need a second vector space.

use async_trait::async_trait;

use super::error::Error;
use super::port::Embedder;
use super::prose::is_common;
use super::vector::unit;
use crate::hash::Fnv;

/// Embeds by hashing words, adjacent word pairs and the 3- to 5-grams of words into 1,024 signed
/// buckets. It knows no synonyms.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashedEmbedder;

impl HashedEmbedder {
    /// The name of the vector space.
    pub const ID: &'static str = "hashed-v1-1024";
    /// The number of components of a vector.
    pub const DIMS: usize = 1024;

    /// The vector of one text: of length 1, or all zero without a word.
    pub fn vector(self, text: &str) -> Vec<f32> {
        let mut features = features(text);
        features.sort_by_key(|feature| feature.hash);
        let mut vector = vec![0.0; Self::DIMS];
        for same in features.chunk_by(|a, b| a.hash == b.hash) {
            let weight: f32 = same.iter().map(|feature| feature.weight).sum();
            // The tenth mention of a word says less than the first.
            let damped = if weight < 1.0 {
                weight
            } else {
                1.0 + weight.ln()
            };
            let hash = same[0].hash;
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            vector[bucket(hash)] += sign * damped;
        }
        unit(vector)
    }
}

#[async_trait]
impl Embedder for HashedEmbedder {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dims(&self) -> usize {
        Self::DIMS
    }

    fn noise_floor(&self) -> f32 {
        // Unrelated tasks have a cosine of .083 at p95, paraphrases lie above .5; the tests below
        // repeat it.
        0.1
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Words beyond these are not read: the vector of a longer text would hardly move.
const MAX_WORDS: usize = 4096;
/// Characters of a word beyond these are not read.
const MAX_WORD_CHARS: usize = 64;
/// What a word's pieces weigh together, compared with the word.
const PIECES: f32 = 0.7;
/// What a pair of words weighs, compared with a word.
const PAIR: f32 = 0.3;
/// What a word weighs that stands in every text.
const COMMON: f32 = 0.15;

struct Feature {
    hash: u64,
    weight: f32,
}

fn features(text: &str) -> Vec<Feature> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words = words.filter(|word| !word.is_empty()).take(MAX_WORDS);
    let mut features = Vec::with_capacity(text.len().min(MAX_WORDS) * 3);
    let mut before: Option<(&str, bool)> = None;
    for word in words {
        let common = is_common(word);
        let weight = if common { COMMON } else { 1.0 };
        push_word(word, weight, &mut features);
        if let Some((first, first_common)) = before {
            let hash = Fnv::new().byte(b'b').bytes(first.as_bytes());
            let hash = hash.byte(b' ').bytes(word.as_bytes()).finish();
            let share = if common || first_common { 0.3 } else { 1.0 };
            let weight = PAIR * share;
            features.push(Feature { hash, weight });
        }
        before = Some((word, common));
    }
    features
}

/// The word itself and its 3- to 5-grams; `<` and `>` mark its ends, so that a prefix differs from
/// the same letters inside a word.
#[expect(
    clippy::cast_precision_loss,
    reason = "a word has at most a few hundred pieces"
)]
fn push_word(word: &str, weight: f32, features: &mut Vec<Feature>) {
    let hash = Fnv::new().byte(b'w').bytes(word.as_bytes()).finish();
    features.push(Feature { hash, weight });
    let marked: Vec<char> = std::iter::once('<')
        .chain(word.chars().take(MAX_WORD_CHARS))
        .chain(std::iter::once('>'))
        .collect();
    let pieces = (3..=5).flat_map(|length| marked.windows(length));
    let count = pieces.clone().count() as f32;
    features.extend(pieces.map(|piece| {
        let start = Fnv::new().byte(b'c');
        let hash = piece.iter().fold(start, |hash, c| {
            hash.bytes(c.encode_utf8(&mut [0; 4]).as_bytes())
        });
        Feature {
            hash: hash.finish(),
            weight: weight * PIECES / count.sqrt(),
        }
    }));
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the remainder is below 1,024"
)]
fn bucket(hash: u64) -> usize {
    (hash % HashedEmbedder::DIMS as u64) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        dot(&HashedEmbedder.vector(a), &HashedEmbedder.vector(b))
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn percentile(mut cosines: Vec<f32>, percent: usize) -> f32 {
        cosines.sort_by(f32::total_cmp);
        cosines[cosines.len() * percent / 100]
    }

    #[test]
    fn unrelated_tasks_fall_below_the_noise_floor_and_paraphrases_do_not() {
        let tasks: Vec<_> = include_str!("../../tests/fixtures/unrelated-tasks.txt")
            .lines()
            .collect();
        let pairs = tasks
            .iter()
            .enumerate()
            .flat_map(|(i, a)| tasks[..i].iter().map(move |b| cosine(a, b)));
        let p95 = percentile(pairs.collect(), 95);
        assert!(p95 < HashedEmbedder.noise_floor());
        for line in include_str!("../../tests/fixtures/paraphrased-tasks.txt").lines() {
            let (a, b) = line.split_once('\t').unwrap();
            assert!(cosine(a, b) > 0.5, "{line}");
        }
    }

    #[test]
    fn stored_vectors_stay_comparable() {
        let vector = HashedEmbedder.vector("Refund order 7");
        for (bucket, weight) in [(56, 0.463_739), (404, -0.463_739), (459, 0.463_739)] {
            assert!(
                (vector[bucket] - weight).abs() < 1e-5,
                "{bucket}: {}",
                vector[bucket]
            );
        }
    }

    proptest! {
        #[test]
        fn every_text_has_a_vector_of_length_one_or_zero(text in any::<String>()) {
            let found = HashedEmbedder.vector(&text);
            prop_assert_eq!(found.len(), HashedEmbedder::DIMS);
            let norm: f32 = found.iter().map(|x| x * x).sum();
            prop_assert!(norm == 0.0 || (norm - 1.0).abs() < 1e-5);
            prop_assert_eq!(found, HashedEmbedder.vector(&text));
        }
    }
}
