//! Names of persons in prose, by what stands before them.

const TITLES: [&str; 9] = [
    "Mr", "Mrs", "Ms", "Mx", "Miss", "Dr", "Prof", "Herr", "Frau",
];

/// What stands before a name in a task. A name has two capitalised words at least there, but for the first.
const OPENINGS: &str =
    "name is |You are |I am |I'm |customer |patient |passenger |client |guest |named ";

/// The words of the names after a title, as `Dr. Li` and `Mrs Li`. One without a dot is a title in capitals only.
pub(super) fn names_after_titles(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c));
        let (word, after) = rest[start..].split_at(end.unwrap_or(rest.len() - start));
        rest = after;
        if after.starts_with(". ") && TITLES.iter().any(|title| title.eq_ignore_ascii_case(word)) {
            names.extend(name_in(&after[2..]));
        } else if after.starts_with(' ') && TITLES.contains(&word) {
            names.extend(name_in(&after[1..]));
        }
    }
    names
}

/// The words of the names that a task announces: `Your name is Mia Li`, `You are Mia Li` and `customer Mia Li`.
pub(super) fn names_after_openings(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (place, opening) in OPENINGS.split('|').enumerate() {
        let fewest = if place == 0 { 1 } else { 2 };
        let (first, rest) = opening.split_at(1);
        for (at, _) in text.match_indices(rest) {
            let before = without_letter(&text[..at], first);
            let name = name_in(&text[at + rest.len()..]);
            if name.len() >= fewest && before.is_some_and(|before| !before.ends_with(is_word)) {
                names.extend(name);
            }
        }
    }
    names
}

/// Whether a text is two capitalised words or more.
pub(super) fn is_full_name(text: &str) -> bool {
    text.contains(' ') && text.split(' ').all(is_name)
}

/// The text without this letter at its end, in either case.
fn without_letter<'a>(text: &'a str, letter: &str) -> Option<&'a str> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(1)?)?;
    last.eq_ignore_ascii_case(letter).then_some(before)
}

/// The words of a name at the beginning of the text, on one line and at most three.
fn name_in(text: &str) -> Vec<&str> {
    let mut name = Vec::new();
    let line = text.lines().next().unwrap_or_default();
    for word in line.split(' ').take(3) {
        let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"']);
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let bare = bare.strip_suffix("’s").unwrap_or(bare);
        if !is_name(bare) || TITLES.contains(&bare) {
            break;
        }
        name.push(bare);
        if bare.len() < word.len() {
            break;
        }
    }
    name
}

fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && word.chars().count() > 1
        && letters.all(|c| c.is_alphabetic() || c == '-' || c == '\'')
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word is one of these, in any case.
pub(super) fn is_among(word: &str, words: &str) -> bool {
    words
        .split(' ')
        .any(|known| known.eq_ignore_ascii_case(word))
}
