//! Words that the table does not cover, such as those of most scripts. They are hashed by their letters
//! into the same space, so that equal words match.

use crate::hash::Fnv;

/// The most words that are read.
pub(super) const MAX_WORDS: usize = 254;
/// The most characters of a word that are read.
const MAX_CHARS: usize = 100;
/// The length of a word's vector, close to those of the table.
const LENGTH: f32 = 3.8;
/// The weight of a word's pieces together, relative to the word.
const PIECES: f32 = 0.7;
/// The pieces of a word of common length. A sentence without spaces has more, with more weight.
const COMMON_PIECES: usize = 12;
/// The weight of two adjacent words, relative to a word. It is high because each ideograph is a word,
/// so that much of the meaning is in their order.
const PAIR: f32 = 0.7;
/// The components of a feature. With several, two features rarely coincide.
const SPREAD: usize = 8;

/// Adds a word, and its pair with an unknown word right before it.
#[expect(
    clippy::cast_precision_loss,
    reason = "a word has at most a few hundred pieces"
)]
pub(super) fn add(word: &str, before: Option<&str>, sum: &mut [f32]) {
    put(Fnv::new().byte(b'w').bytes(word.as_bytes()), 1.0, sum);
    if let Some(before) = before {
        let pair = Fnv::new().byte(b'b').bytes(before.as_bytes());
        put(pair.byte(b' ').bytes(word.as_bytes()), PAIR, sum);
    }
    let letters: Vec<char> = word.chars().take(MAX_CHARS).collect();
    if letters.len() < 2 {
        return;
    }
    // The ends are marked, so that a prefix differs from the same letters inside a word.
    let marked: Vec<char> = [&['<'], &letters[..], &['>']].concat();
    let pieces = (2..=4).flat_map(|length| marked.windows(length));
    let weight = PIECES / (pieces.clone().count().min(COMMON_PIECES) as f32).sqrt();
    for piece in pieces {
        let hash = piece.iter().fold(Fnv::new().byte(b'c'), |hash, c| {
            hash.bytes(c.encode_utf8(&mut [0; 4]).as_bytes())
        });
        put(hash, weight, sum);
    }
}

/// Adds a feature in the direction given by its hash.
fn put(feature: Fnv, weight: f32, sum: &mut [f32]) {
    #[expect(clippy::cast_precision_loss, reason = "it is a small constant")]
    let share = LENGTH * weight / (SPREAD as f32).sqrt();
    for number in 0..SPREAD {
        #[expect(clippy::cast_possible_truncation, reason = "it is below eight")]
        let hash = feature.byte(number as u8).finish();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the remainder is a component's number"
        )]
        let component = (hash % sum.len() as u64) as usize;
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        sum[component] += sign * share;
    }
}
