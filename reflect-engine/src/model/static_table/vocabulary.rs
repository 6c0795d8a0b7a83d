//! The rows of the table for a text.

use super::words::{is_punctuation_mark, normalise, words};
use crate::hash::Fnv;

/// The most pieces of a text that are read.
const MAX_PIECES: usize = 254;
/// The most word pairs of a text that are read.
const MAX_PAIRS: usize = 128;
/// A word of more characters is skipped.
const MAX_WORD_CHARS: usize = 100;
/// No piece of the vocabulary is longer, `##` included; loading checks it.
const MAX_PIECE_BYTES: usize = 32;

/// The lines of the vocabulary, indexed without copies.
pub(super) struct Vocabulary {
    text: &'static str,
    /// The start of each line, and of one past the last.
    starts: Vec<u32>,
    /// Open addressing: a line's number plus one, or 0. At most half full.
    slots: Vec<u32>,
}

impl Vocabulary {
    /// Indexes the lines: pieces first, then word pairs `a b`. `None` if a piece is too long.
    pub(super) fn new(text: &'static str, pieces: usize) -> Option<Self> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        u32::try_from(text.len()).ok()?;
        let mut starts = Vec::with_capacity(1 << 16);
        starts.push(0);
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'\n' {
                starts.push(offset(at + 1));
            }
        }
        let lines = starts.len();
        starts.push(offset(text.len() + 1));
        let mut vocabulary = Self {
            text,
            starts,
            slots: vec![0; (lines * 2).next_power_of_two()],
        };
        for line in 0..lines {
            let bytes = vocabulary.line(line);
            if line < pieces && bytes.len() > MAX_PIECE_BYTES {
                return None;
            }
            let mut slot = vocabulary.slot(Fnv::new().bytes(bytes));
            while vocabulary.slots[slot] != 0 {
                slot = vocabulary.after(slot);
            }
            vocabulary.slots[slot] = offset(line + 1);
        }
        Some(vocabulary)
    }

    /// The number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of the text's pieces, then of its word pairs. `unknown` receives each word that no
    /// pieces cover, with the word right before it if that is unknown too.
    pub(super) fn rows(
        &self,
        text: &str,
        mut unknown: impl FnMut(&str, Option<&str>),
    ) -> Vec<usize> {
        let text = normalise(text);
        let (mut pieces, mut pairs) = (Vec::with_capacity(64), Vec::new());
        let mut before: Option<&str> = None;
        let mut unknown_before: Option<&str> = None;
        for word in words(&text) {
            if pieces.len() < MAX_PIECES {
                let known = self.push_pieces(word, &mut pieces);
                // Unknown ASCII is not a word but a blob of over a hundred characters.
                let says_something = !known && !word.is_ascii() && !is_punctuation_mark(word);
                if says_something {
                    unknown(word, unknown_before);
                }
                unknown_before = says_something.then_some(word);
            }
            if pairs.len() < MAX_PAIRS {
                pairs.extend(before.and_then(|before| self.pair(before, word)));
            } else if pieces.len() >= MAX_PIECES {
                break;
            }
            before = Some(word);
        }
        pieces.truncate(MAX_PIECES);
        pieces.extend(pairs);
        pieces
    }

    /// The longest pieces that cover the word from its beginning; none if they do not cover it.
    fn push_pieces(&self, word: &str, rows: &mut Vec<usize>) -> bool {
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return false;
        }
        let before = rows.len();
        let mut rest = word;
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { "" } else { "##" };
            let Some((row, length)) = self.longest_piece(prefix, rest) else {
                rows.truncate(before);
                return false;
            };
            rows.push(row);
            rest = &rest[length..];
        }
        true
    }

    fn longest_piece(&self, prefix: &str, rest: &str) -> Option<(usize, usize)> {
        let mut hashes = [Fnv::new(); MAX_PIECE_BYTES];
        let mut hash = Fnv::new().bytes(prefix.as_bytes());
        for (byte, slot) in rest.bytes().zip(&mut hashes) {
            hash = hash.byte(byte);
            *slot = hash;
        }
        (1..=rest.len().min(MAX_PIECE_BYTES))
            .rev()
            .filter(|length| rest.is_char_boundary(*length))
            .find_map(|length| {
                let row = self.find(hashes[length - 1], |line| {
                    line.strip_prefix(prefix.as_bytes()) == Some(&rest.as_bytes()[..length])
                })?;
                Some((row, length))
            })
    }

    fn pair(&self, a: &str, b: &str) -> Option<usize> {
        let hash = Fnv::new()
            .bytes(a.as_bytes())
            .byte(b' ')
            .bytes(b.as_bytes());
        self.find(hash, |line| {
            line.strip_prefix(a.as_bytes())
                .and_then(|rest| rest.strip_prefix(b" "))
                == Some(b.as_bytes())
        })
    }

    fn find(&self, hash: Fnv, is_it: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let mut slot = self.slot(hash);
        loop {
            let line = self.slots[slot].checked_sub(1)? as usize;
            if is_it(self.line(line)) {
                return Some(line);
            }
            slot = self.after(slot);
        }
    }

    fn line(&self, line: usize) -> &'static [u8] {
        let (start, end) = (self.starts[line], self.starts[line + 1] - 1);
        &self.text.as_bytes()[start as usize..end as usize]
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the slots are far fewer than 2^32"
    )]
    fn slot(&self, hash: Fnv) -> usize {
        hash.finish() as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the text was checked to be under 4 GB before"
)]
fn offset(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vocabulary {
        Vocabulary::new("[UNK]\nrun\n##ning\n##n\nü\na\nrunn a\na run\n", 6).unwrap()
    }

    fn rows(text: &str) -> Vec<usize> {
        small().rows(text, |_, _| {})
    }

    #[test]
    fn the_longest_pieces_cover_a_word_or_it_is_skipped() {
        assert_eq!(rows("running"), [1, 2]);
        assert_eq!(rows("runn"), [1, 3]);
        assert_eq!(rows("runs a"), [5]);
    }

    #[test]
    fn pairs_follow_the_pieces_even_where_a_word_is_unknown() {
        assert_eq!(rows("a run"), [5, 1, 7]);
        assert_eq!(rows("runn a"), [1, 3, 5, 6]);
    }

    #[test]
    fn unknown_words_are_reported_with_their_neighbour() {
        let mut told = Vec::new();
        let mut tell = |word: &str, before: Option<&str>| {
            told.push(format!("{word} after {}", before.unwrap_or("-")));
        };
        small().rows("a ждать ответ run — 日本", &mut tell);
        assert_eq!(
            told,
            [
                "ждать after -",
                "ответ after ждать",
                "日 after -",
                "本 after 日"
            ]
        );
    }

    #[test]
    fn a_long_text_is_read_up_to_its_limits() {
        let found = rows(&"a run ".repeat(1_000));
        assert_eq!(found.len(), MAX_PIECES + MAX_PAIRS);
        assert_eq!(rows(&"run".repeat(34)), Vec::<usize>::new());
    }

    #[test]
    fn a_piece_too_long_to_be_found_is_refused() {
        assert!(Vocabulary::new("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 1).is_none());
    }
}
