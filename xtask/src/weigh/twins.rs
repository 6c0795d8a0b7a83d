//! Functions that say the same in both stores.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::production::{Source, group, sources};
use super::tokens::{Kind, Token, is_word};

/// The share of words in common, in percent, from which two functions are twins.
const ALIKE: usize = 70;
/// A shorter body is a hook: it says less than its signature.
const SHORTEST_BODY: usize = 40;

const STORES: [&str; 2] = [
    "reflect-engine/src/store/sqlite",
    "reflect-engine/src/store/postgres",
];

struct Function {
    file: PathBuf,
    name: String,
    /// Numbers of words, the same in both stores.
    words: Vec<u32>,
    sorted: Vec<u32>,
}

/// A function of SQLite's store, and the one of PostgreSQL's that is most like it.
pub(super) struct Twin {
    pub(super) percent: usize,
    pub(super) names: [String; 2],
}

/// The twins, most alike first.
pub(super) fn twins(root: &Path) -> Vec<Twin> {
    let mut numbers = HashMap::new();
    let [here, there] = STORES.map(|store| {
        let files = sources(root, store);
        let functions = files.iter().flat_map(|file| functions(file, &mut numbers));
        functions.collect::<Vec<_>>()
    });
    let shown = |function: &Function| format!("{} {}", function.file.display(), function.name);
    let mut twins: Vec<Twin> = here
        .iter()
        .filter_map(|one| {
            let percent = |other: &Function| alike(one, other).unwrap_or(0);
            let other = there.iter().max_by_key(|other| percent(other))?;
            let percent = percent(other);
            let names = [shown(one), shown(other)];
            (percent >= ALIKE).then_some(Twin { percent, names })
        })
        .collect();
    twins.sort_by(|a, b| b.percent.cmp(&a.percent).then(a.names.cmp(&b.names)));
    twins
}

/// The functions of a file with a body that is long enough.
fn functions(file: &Source, numbers: &mut HashMap<String, u32>) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, token) in file.tokens.iter().enumerate() {
        let Some(name) = file.tokens.get(at + 1).filter(|_| token.is("fn")) else {
            continue;
        };
        let rest = &file.tokens[at..];
        let Some(body) = body(rest) else { continue };
        let end = body + group(&rest[body..]);
        let mut number = |word: String| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(word).or_insert(next)
        };
        let mut numbered = |tokens| {
            normal(tokens)
                .into_iter()
                .map(&mut number)
                .collect::<Vec<_>>()
        };
        if numbered(&rest[body..end]).len() < SHORTEST_BODY {
            continue;
        }
        let words = numbered(&rest[..end]);
        let mut sorted = words.clone();
        sorted.sort_unstable();
        found.push(Function {
            file: file.path.clone(),
            name: name.text.clone(),
            words,
            sorted,
        });
    }
    found
}

/// Where the body of a function begins, if it has one.
fn body(tokens: &[Token]) -> Option<usize> {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            _ => at += group(&tokens[at..]),
        }
    }
    None
}

/// Words and marks, also those of statements in strings, without what the databases spell differently:
/// `await`, the numbers of placeholders, and booleans.
fn normal(tokens: &[Token]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for token in tokens {
        if token.kind == Kind::Text {
            words.push("\"".to_owned());
            words.extend(split(&token.text));
            words.push("\"".to_owned());
        } else if token.is("await") {
            words.pop();
        } else if !token.is("async") {
            words.push(boolean(&token.text));
        }
    }
    words
}

fn boolean(word: &str) -> String {
    match word {
        "true" => "1",
        "false" => "0",
        other => other,
    }
    .to_owned()
}

fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for character in text.chars() {
        let is_placeholder = words.last().is_some_and(|last| last == "?");
        if is_word(character) && is_open {
            words
                .last_mut()
                .into_iter()
                .for_each(|word| word.push(character));
        } else if is_placeholder && character.is_ascii_digit() {
        } else if !character.is_whitespace() {
            let mark = if character == '$' { '?' } else { character };
            words.push(mark.to_string());
        }
        is_open = is_word(character) && !(is_placeholder && character.is_ascii_digit());
    }
    words.iter().map(|word| boolean(word)).collect()
}

/// How many percent of the words of two functions are in both, in the same order; nothing if too few.
fn alike(one: &Function, other: &Function) -> Option<usize> {
    let all = one.words.len() + other.words.len();
    let percent = |common: usize| 200 * common / all.max(1);
    let shorter = one.words.len().min(other.words.len());
    // Cheap upper bounds come first.
    let possible =
        percent(shorter) >= ALIKE && percent(shared(&one.sorted, &other.sorted)) >= ALIKE;
    possible.then(|| percent(in_order(&one.words, &other.words)))
}

/// The size of the intersection of two sorted bags.
fn shared(mut one: &[u32], mut other: &[u32]) -> usize {
    let mut count = 0;
    while let ([a, after_a @ ..], [b, after_b @ ..]) = (one, other) {
        count += usize::from(a == b);
        if a <= b {
            one = after_a;
        }
        if b <= a {
            other = after_b;
        }
    }
    count
}

/// The length of the longest common subsequence.
fn in_order(one: &[u32], other: &[u32]) -> usize {
    let mut row = vec![0; other.len() + 1];
    for a in one {
        let mut diagonal = 0;
        for (at, b) in other.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if a == b {
                diagonal + 1
            } else {
                above.max(row[at])
            };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::read;
    use super::*;

    #[test]
    fn what_databases_spell_differently_is_the_same() {
        let here = "fn f() { db.run(\"UPDATE t SET a = ?1, b = 0 WHERE c = ?12\", true)? }";
        let there =
            "async fn f() { db.run(\"UPDATE t SET a = $1, b = false WHERE c = $2\", 1).await? }";
        assert_eq!(normal(&read(here)), normal(&read(there)));
    }

    #[test]
    fn words_count_in_their_order() {
        assert_eq!(in_order(&[1, 2, 3, 4], &[2, 1, 3, 4, 5]), 3);
        assert_eq!(shared(&[1, 1, 2, 3], &[1, 2, 2, 3]), 3);
    }
}
