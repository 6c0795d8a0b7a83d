//! Names of persons in prose, by what stands before them.

/// What stands before a name, and the number of capitalised words that a name has at least there.
pub(super) const TITLES: [(&str, usize); 4] = [("Mr. ", 1), ("Mrs. ", 1), ("Ms. ", 1), ("Dr. ", 1)];
/// The same, for tasks.
pub(super) const OPENINGS: [(&str, usize); 10] = [
    ("name is ", 1),
    ("You are ", 2),
    ("I am ", 2),
    ("I'm ", 2),
    ("customer ", 2),
    ("patient ", 2),
    ("passenger ", 2),
    ("client ", 2),
    ("guest ", 2),
    ("named ", 2),
];

/// The words of the names after these openings: `Your name is Mia Li`, `You are Mia Li`, `Dr. Li` and
/// `customer Mia Li`.
pub(super) fn names_after<'a>(text: &'a str, openings: &[(&str, usize)]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (opening, fewest) in openings {
        let (first, rest) = opening.split_at(1);
        for (at, _) in text.match_indices(rest) {
            let before = without_letter(&text[..at], first);
            let name = name_in(&text[at + rest.len()..]);
            if name.len() >= *fewest && before.is_some_and(|before| !before.ends_with(is_word)) {
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
        if !is_name(bare) {
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
