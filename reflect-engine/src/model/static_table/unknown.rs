//! Words that the table has no pieces for, such as those of most scripts: hashed by their letters
//! into the same space, so that they are recognised, if not understood.

use super::StaticEmbedder;
use crate::model::hash::Fnv;

/// The words beyond these are not read.
pub(super) const MAX_WORDS: usize = 254;
/// Characters of a word beyond these are not read.
const MAX_CHARS: usize = 100;
/// The length of a word's vector: about that of the table's words.
const LENGTH: f32 = 3.8;
/// What a word's pieces weigh together, compared with the word.
const PIECES: f32 = 0.7;
/// The pieces of a word of common length. A sentence without spaces has more, and they weigh more.
const COMMON_PIECES: usize = 12;
/// What two adjacent words weigh, compared with a word. Ideographs stand alone, so much of what
/// they mean is in their order.
const PAIR: f32 = 0.7;
/// Into how many components a feature goes: with more than one, no two features look the same.
const SPREAD: usize = 8;

/// Adds a word, and what it forms with an unknown one right before it.
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

/// Adds a feature: a direction that its hash chooses.
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
        let component = (hash % StaticEmbedder::DIMS as u64) as usize;
        let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
        sum[component] += sign * share;
    }
}
