//! Which modules of the engine use which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::production::{Source, group, sources};
use super::tokens::{Kind, Token};

/// The modules, the highest first: one uses those below it, or beside it without a circle.
const FLOORS: &[&[&str]] = &[
    &["engine"],
    &["jobs"],
    &["recall"],
    &["core"],
    &["index"],
    &["rank", "report"],
    &["store"],
    &["review"],
    &["learn", "statistics", "task", "key_limits"],
    &["error"],
    &["model"],
    &["clock", "hash", "id"],
];

/// What is wrong with the arrows between modules.
#[derive(Default)]
pub(super) struct Arrows {
    pub(super) up: Vec<String>,
    pub(super) circles: Vec<String>,
    /// Modules without a floor.
    pub(super) unknown: Vec<String>,
}

type Uses = BTreeMap<String, BTreeSet<String>>;

pub(super) fn arrows(root: &Path) -> Arrows {
    let uses = uses(&sources(root, "reflect-engine/src"));
    let floor = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    let mut arrows = Arrows::default();
    for (module, used) in &uses {
        let Some(own) = floor(module) else {
            arrows.unknown.push(module.clone());
            continue;
        };
        let up = used
            .iter()
            .filter(|used| floor(used).is_some_and(|its| its < own));
        arrows
            .up
            .extend(up.map(|used| format!("{module} → {used}")));
    }
    arrows.circles = circles(&uses);
    arrows
}

/// The modules of a crate, each with those it names.
fn uses(sources: &[Source]) -> Uses {
    let mut uses = Uses::new();
    let is_root = |source: &&Source| source.path.ends_with("src/lib.rs");
    let paths = |source: &Source| -> Vec<String> {
        let inside = source.path.iter().skip_while(|part| *part != "src").skip(1);
        let inside: std::path::PathBuf = inside.collect();
        let path = inside.with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts
            .filter(|part| part != "mod" && part != "lib")
            .collect()
    };
    for source in sources.iter().filter(|source| !source.tokens.is_empty()) {
        if let Some(module) = paths(source).first() {
            uses.entry(module.clone()).or_default();
        }
    }
    let exports = sources
        .iter()
        .find(is_root)
        .map(exports)
        .unwrap_or_default();
    for source in sources {
        let path = paths(source);
        let Some(module) = path.first() else { continue };
        let named = named(&source.tokens, path.len());
        let named = named
            .into_iter()
            .map(|name| exports.get(&name).cloned().unwrap_or(name));
        let others: Vec<String> = named
            .filter(|name| name != module && uses.contains_key(name))
            .collect();
        uses.entry(module.clone()).or_default().extend(others);
    }
    uses
}

/// The module of each name that the crate's root exports.
fn exports(lib: &Source) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in lib.tokens.split(|token| token.is(";")) {
        let words = statement.iter().filter(|token| token.kind == Kind::Word);
        let mut words = words
            .map(|token| token.text.clone())
            .skip_while(|word| word != "use");
        if let Some(module) = words.nth(1) {
            exports.extend(words.map(|name| (name, module.clone())));
        }
    }
    exports
}

/// What comes right below the crate in paths, in a module so many levels below it.
fn named(tokens: &[Token], depth: usize) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for at in 0..tokens.len() {
        let is_continued = at >= 2 && tokens[at - 1].is(":") && tokens[at - 2].is(":");
        if is_continued {
            continue;
        }
        let mut rest = &tokens[at..];
        let mut above = 0;
        while is_step(rest, "super") {
            above += 1;
            rest = &rest[3..];
        }
        if is_step(rest, "crate") {
            rest = &rest[3..];
        } else if above == 0 || above != depth {
            continue;
        }
        match rest.first() {
            Some(name) if name.kind == Kind::Word => drop(named.insert(name.text.clone())),
            Some(open) if open.is("{") => named.extend(firsts(&rest[..group(rest)])),
            _ => {}
        }
    }
    named
}

fn is_step(tokens: &[Token], word: &str) -> bool {
    matches!(tokens, [first, a, b, ..] if first.is(word) && a.is(":") && b.is(":"))
}

/// The first word of each path in braces.
fn firsts(braces: &[Token]) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 1);
    let mut is_first = true;
    while let Some(token) = braces.get(at) {
        if is_first && token.kind == Kind::Word {
            found.push(token.text.clone());
        }
        is_first = token.is(",");
        at += group(&braces[at..]);
    }
    found
}

/// Groups of modules that reach each other.
fn circles(uses: &Uses) -> Vec<String> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(module) = waiting.pop() {
            for next in uses.get(module).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    waiting.push(next);
                }
            }
        }
        reached
    };
    let all: BTreeMap<&str, _> = uses
        .keys()
        .map(|module| (module.as_str(), reached(module)))
        .collect();
    let circle = |module: &str| {
        let there = all[module]
            .iter()
            .filter(|other| all.get(*other).is_some_and(|back| back.contains(module)));
        there.copied().collect::<Vec<_>>().join(", ")
    };
    let circles: BTreeSet<String> = all.keys().map(|module| circle(module)).collect();
    circles
        .into_iter()
        .filter(|circle| !circle.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::read;
    use super::*;

    #[test]
    fn paths_name_modules_by_the_crate_or_from_below() {
        let source = "use crate::{a, b::{c, d}}; use super::e; fn f() { super::super::g::h(); crate::i::crate_j() }";
        let expected = ["a", "b", "g", "i"].map(str::to_owned);
        assert_eq!(named(&read(source), 2), BTreeSet::from(expected));
    }

    #[test]
    fn modules_that_reach_each_other_are_a_circle() {
        let uses = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")];
        let uses = uses.map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])));
        assert_eq!(circles(&Uses::from(uses)), ["b, c"]);
    }
}
