//! An embedder without any table: hashed words, word pairs and pieces of words.

use async_trait::async_trait;

use super::hash::Fnv;
use super::{Embedder, Error};

/// Embeds by hashing words, adjacent word pairs and the 3- to 5-grams of words into 1,024 signed
/// buckets.
///
/// It knows no synonyms, but needs no asset, and shared identifiers count in full. The vectors are
/// the same on every platform; whoever changes how they come about changes the id.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashedEmbedder;

impl HashedEmbedder {
    /// Names the vector space.
    pub const ID: &'static str = "hashed-v1-1024";
    /// How many components a vector has.
    pub const DIMS: usize = 1024;

    /// The vector of one text: of length 1, or all zero where it has no word.
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
        super::unit(vector)
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
        // p95 of the cosines of tasks that have nothing to do with each other, measured on the 50
        // airline tasks of tau-bench against 100 questions of HotpotQA (p95 .094) and on thirty
        // short tasks of different kinds (p95 .083). Paraphrases lie above .5. The tests below
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

/// Words of English that say nothing of what a text is about.
const COMMON_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it",
    "its", "me", "my", "no", "not", "of", "on", "or", "our", "she", "should", "so", "some", "than",
    "that", "the", "their", "them", "then", "there", "they", "this", "to", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you",
    "your",
];

/// Whether a word, in lower case, says nothing of what a text is about.
pub(super) fn is_common(word: &str) -> bool {
    COMMON_WORDS.binary_search(&word).is_ok()
}

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
    use std::path::Path;

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
    fn tasks_of_different_real_data_sets_fall_below_the_noise_floor() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
        let read = |file| std::fs::read_to_string(data.join(file));
        let (Ok(airline), Ok(questions)) = (
            read("tau-bench/gpt-4o-airline.json"),
            read("reflexion/hotpotqa/react_reflexion_100q_5trials.txt"),
        ) else {
            println!("skipped: {} has no data sets", data.display());
            return;
        };
        let airline: Vec<serde_json::Value> = serde_json::from_str(&airline).unwrap();
        let airline = airline
            .iter()
            .filter_map(|run| run["info"]["task"]["instruction"].as_str());
        // Longer lines quote earlier trials.
        let questions = questions
            .lines()
            .filter_map(|line| line.strip_prefix("Question: "))
            .filter(|question| question.len() < 250);
        let vectors = |mut texts: Vec<&str>| {
            texts.sort_unstable();
            texts.dedup();
            let vectors = texts.iter().map(|text| HashedEmbedder.vector(text));
            vectors.collect::<Vec<_>>()
        };
        let (airline, questions) = (vectors(airline.collect()), vectors(questions.collect()));
        let cosines = airline
            .iter()
            .flat_map(|a| questions.iter().map(move |b| dot(a, b)));
        let p95 = percentile(cosines.collect(), 95);
        println!("{} x {} tasks: p95 {p95}", airline.len(), questions.len());
        assert!(p95 < HashedEmbedder.noise_floor());
    }

    #[test]
    fn the_common_words_are_sorted_for_the_search() {
        assert!(COMMON_WORDS.is_sorted());
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
