//! The strength of secrets that an operator chooses.

use std::collections::HashSet;
use std::fmt;

/// 32 random hexadecimal digits have 128 bits.
const MIN_LENGTH: usize = 32;
/// 32 random hexadecimal digits have 14 different ones on average.
const MIN_CHARACTERS: usize = 10;
/// 32 random hexadecimal digits have 29 different pairs of neighbours on average; a repeated word has as
/// many as it has letters.
const MIN_PAIRS: usize = 20;

/// Refuses a master key or bootstrap token that is easily guessed: at least 32 characters are needed, of
/// which 10 are different, with 20 different pairs of neighbours, and at most three quarters of the pairs
/// next to each other in the alphabet.
///
/// Random text of 128 bits passes in hexadecimal, Base64 or any richer alphabet. The rule refuses what is
/// short, repeated or in alphabetical order; it cannot tell a random text from a sentence.
pub fn check_strength(secret: &str) -> Result<(), WeakSecret> {
    let characters: Vec<char> = secret.chars().collect();
    if characters.len() < MIN_LENGTH {
        return Err(WeakSecret::Short(characters.len()));
    }
    let distinct: HashSet<&char> = characters.iter().collect();
    let pairs: HashSet<&[char]> = characters.windows(2).collect();
    if distinct.len() < MIN_CHARACTERS || pairs.len() < MIN_PAIRS {
        return Err(WeakSecret::Repetitive);
    }
    let neighbours = characters.windows(2);
    let steps = neighbours.filter(|pair| u32::from(pair[0]).abs_diff(u32::from(pair[1])) == 1);
    if steps.count() * 4 > characters.len() * 3 {
        return Err(WeakSecret::Sequential);
    }
    Ok(())
}

/// Why a secret can be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeakSecret {
    /// It has this many characters.
    Short(usize),
    /// It repeats few characters or a short piece of text.
    Repetitive,
    /// Most of it is in the order of the alphabet.
    Sequential,
}

impl fmt::Display for WeakSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(1) => f.write_str("is too weak, with 1 character")?,
            Self::Short(length) => write!(f, "is too weak, with {length} characters")?,
            Self::Repetitive => f.write_str("is too weak, because it repeats itself")?,
            Self::Sequential => f.write_str("is too weak, because it is in alphabetical order")?,
        }
        write!(
            f,
            ": a good one has at least {MIN_LENGTH} random characters; make one with `reflect keys \
             generate` or `openssl rand -base64 32`"
        )
    }
}

impl std::error::Error for WeakSecret {}

#[cfg(test)]
mod tests {
    use reflect_types::Environment;

    use super::super::KeyText;
    use super::*;

    #[test]
    fn short_or_repeated_secret_is_weak() {
        assert_eq!(check_strength("a"), Err(WeakSecret::Short(1)));
        assert_eq!(check_strength(&"ü".repeat(31)), Err(WeakSecret::Short(31)));
        for repeated in [
            "a".repeat(64),
            "change-me!".repeat(4),
            "correct-horse".repeat(3),
            "0123456789abcdef".repeat(2),
        ] {
            assert_eq!(check_strength(&repeated), Err(WeakSecret::Repetitive));
        }
    }

    #[test]
    fn alphabet_is_weak() {
        for sequence in [
            "abcdefghijklmnopqrstuvwxyz012345",
            "zyxwvutsrqponmlkjihgfedcba987654",
            "0123456789abcdefghijklmnopqrstuvwxyz",
        ] {
            assert_eq!(check_strength(sequence), Err(WeakSecret::Sequential));
        }
    }

    #[test]
    fn random_text_of_128_bits_is_strong() {
        let hex = "9f86d081884c7d659a2feaa0c55ad015";
        let base64 = "x5mZpYb0oQ4w7Qe1ZK0v2bJHkq3f9dTnVg8sLrUy6Mo=";
        for random in [hex, base64] {
            assert_eq!(check_strength(random), Ok(()));
        }
        for _ in 0..100 {
            let generated = KeyText::generate(Environment::Live).unwrap().reveal();
            assert_eq!(check_strength(&generated), Ok(()));
        }
    }

    #[test]
    fn message_says_how_to_make_a_good_one() {
        let message = WeakSecret::Short(1).to_string();
        for part in [
            "1 character:",
            "32 random",
            "reflect keys generate",
            "openssl rand",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
