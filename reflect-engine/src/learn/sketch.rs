//! Short forms of texts that tell whether two of them say nearly the same.
//!
//! A slot is the least hash of a text's words and pairs of words, by a hash of its own: the share of slots in
//! which two texts agree estimates the share of words and pairs that they have in common. Stored memories
//! have sketches, so they are the same on every platform and in every version.

use std::fmt;
use std::str::FromStr;

use crate::hash::Fnv;

/// What two texts have in common, by their words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sketch<const SLOTS: usize> {
    slots: [u8; SLOTS],
    /// A hash of the numbers in the text.
    numbers: u32,
}

/// The sketch of a memory's task.
pub type TaskSketch = Sketch<12>;
/// The sketch of what a memory says.
pub type TextSketch = Sketch<32>;

impl<const SLOTS: usize> Sketch<SLOTS> {
    /// The sketch of a text; `None` if it has no words.
    pub fn of(text: &str) -> Option<Self> {
        let mut least = [u32::MAX; SLOTS];
        let mut numbers = 0_u32;
        let mut before = None;
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if word.is_empty() {
                continue;
            }
            let hash = hash(word);
            // In any order, and each as often as it occurs.
            for number in word.split(|c: char| !c.is_numeric()) {
                if !number.is_empty() {
                    numbers = numbers.wrapping_add(upper(self::hash(number)));
                }
            }
            note(&mut least, hash);
            if let Some(before) = before {
                let pair = Fnv::new().bytes(&u64::to_le_bytes(before));
                note(&mut least, pair.bytes(&hash.to_le_bytes()).finish());
            }
            before = Some(hash);
        }
        before?;
        // The least ones differ in their lower bits.
        let slots = least.map(|least| least.to_le_bytes()[0]);
        Some(Self { slots, numbers })
    }

    /// The share of slots in which two texts agree; 0 if their numbers differ.
    #[expect(clippy::cast_precision_loss, reason = "there are few slots")]
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.numbers != other.numbers {
            return 0.0;
        }
        let agreeing = self.slots.iter().zip(&other.slots).filter(|(a, b)| a == b);
        agreeing.count() as f64 / SLOTS as f64
    }

    /// The slots from here on, cyclically.
    pub(crate) fn some_slots<const SOME: usize>(&self, from: usize) -> [u8; SOME] {
        std::array::from_fn(|slot| self.slots[(from + slot) % SLOTS])
    }
}

/// The hash of a word in lower case.
fn hash(word: &str) -> u64 {
    let mut utf8 = [0; 4];
    let lower = word.chars().flat_map(char::to_lowercase);
    let hash = lower.fold(Fnv::new(), |hash, c| {
        hash.bytes(c.encode_utf8(&mut utf8).as_bytes())
    });
    hash.finish()
}

/// Lowers each slot to its own hash of a feature, if that is less.
fn note<const SLOTS: usize>(least: &mut [u32; SLOTS], feature: u64) {
    let mut factor = 0x9e37_79b9_7f4a_7c15_u64;
    for least in least {
        *least = (*least).min(upper(feature.wrapping_mul(factor)));
        // An odd number stays odd.
        factor = factor.wrapping_mul(0xd134_2543_de82_ef95);
    }
}

const fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl<const SLOTS: usize> fmt::Display for Sketch<SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.numbers)?;
        self.slots
            .iter()
            .try_for_each(|slot| write!(f, "{slot:02x}"))
    }
}

impl<const SLOTS: usize> fmt::Debug for Sketch<SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch({self})")
    }
}

/// A text that is not a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a sketch of a text")]
pub struct NotASketch;

impl<const SLOTS: usize> FromStr for Sketch<SLOTS> {
    type Err = NotASketch;

    fn from_str(text: &str) -> Result<Self, NotASketch> {
        if !text.is_ascii() || text.len() != 8 + 2 * SLOTS {
            return Err(NotASketch);
        }
        let (numbers, rest) = text.split_at(8);
        let numbers = u32::from_str_radix(numbers, 16).map_err(|_| NotASketch)?;
        let mut slots = [0; SLOTS];
        for (slot, at) in slots.iter_mut().zip((0..).step_by(2)) {
            *slot = u8::from_str_radix(&rest[at..at + 2], 16).map_err(|_| NotASketch)?;
        }
        Ok(Self { slots, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Reviewer: The lamp was bought on sale, and a lamp on sale is exchanged but not \
                        refunded. Failed: refunded the lamp in full after one look at the order. \
                        Next time: ask for the receipt.";

    fn similarity(a: &str, b: &str) -> f64 {
        let [a, b] = [a, b].map(|text| TextSketch::of(text).unwrap());
        a.similarity(&b)
    }

    #[test]
    fn texts_are_as_similar_as_their_words() {
        let same = TEXT.to_uppercase().replace(',', " -");
        assert!((similarity(TEXT, &same) - 1.0).abs() < f64::EPSILON);
        assert!(similarity(TEXT, &TEXT.replace("receipt", "invoice")) > 0.85);
        assert!(similarity(TEXT, "Passed: booked the flight to Rome.") < 0.3);
        let half = &TEXT[..TEXT.len() / 2];
        let share = similarity(TEXT, half);
        assert!((0.25..0.75).contains(&share), "{share}");
    }

    #[test]
    fn other_numbers_say_something_else() {
        let days = |days| format!("{TEXT} Refunds end after {days} days.");
        assert!(similarity(&days("30"), &days("60")) < f64::EPSILON);
        for (this, that) in [("30d", "60d"), ("5pm", "6pm"), ("v1.2", "v1.3"), ("٣", "٤")] {
            assert!(
                similarity(&days(this), &days(that)) < f64::EPSILON,
                "{this}"
            );
        }
        assert!((similarity("12 of 30", "12 of 30") - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_text_without_words_has_no_sketch() {
        assert_eq!(TextSketch::of(" .-! "), None);
        assert!(TextSketch::of("é").is_some());
    }

    #[test]
    fn stored_sketches_depend_on_these_values() {
        let sketch = TaskSketch::of("Refund the lamp of order 7").unwrap();
        assert_eq!(sketch.to_string(), "cf48ffa9e837496075d0b17f8b95bfff");
        assert_eq!(sketch.to_string().parse(), Ok(sketch));
        assert_eq!("x".parse::<TaskSketch>(), Err(NotASketch));
        assert_eq!("é".repeat(16).parse::<TaskSketch>(), Err(NotASketch));
    }
}
