//! What of the sources is shipped: what tests alone need is left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::tokens::{Kind, Token, read};

/// A file of a crate's `src`.
pub(super) struct Source {
    /// From the root of the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Without items for tests. Empty if the whole file is for tests.
    pub(super) tokens: Vec<Token>,
}

impl Source {
    /// The lines with something else than comments.
    pub(super) fn lines(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let has_text = |line: &usize| {
            lines
                .get(line - 1)
                .is_some_and(|line| !line.trim().is_empty())
        };
        let used = self.tokens.iter().flat_map(|token| token.lines.clone());
        used.filter(has_text).collect::<BTreeSet<_>>().len()
    }
}

/// All Rust files below a folder of a tree, sorted.
pub(super) fn sources(root: &Path, folder: &str) -> Vec<Source> {
    let files = files(&root.join(folder), "rs");
    let mut only_tests = BTreeSet::new();
    let mut sources = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let (tokens, modules) = without_tests(&read(&text));
        let folder = children(&file);
        only_tests.extend(modules.iter().map(|module| folder.join(module)));
        let path = file.strip_prefix(root).unwrap_or(&file).to_owned();
        sources.push(Source { path, text, tokens });
    }
    for source in &mut sources {
        let module = root.join(&source.path).with_extension("");
        let is_named = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == "tests" || name == "benches" || name.ends_with("_tests")
        };
        let below = Path::new(folder);
        let inside = source
            .path
            .strip_prefix(below)
            .unwrap_or(below)
            .with_extension("");
        if inside.ancestors().any(is_named)
            || module.ancestors().any(|module| only_tests.contains(module))
        {
            source.tokens.clear();
        }
    }
    sources
}

/// All files below a folder with this extension, sorted.
pub(super) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).into_iter().flatten();
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && name != "node_modules" && !name.starts_with('.') {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|its| its == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The folder of the modules that a file declares.
fn children(file: &Path) -> PathBuf {
    let module = file.with_extension("");
    let is_root = ["mod", "lib", "main"]
        .iter()
        .any(|root| module.ends_with(root));
    if is_root {
        module.parent().map(Path::to_owned).unwrap_or_default()
    } else {
        module
    }
}

/// The tokens without the items that only tests have, and the names of modules among these whose files are
/// elsewhere.
fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut rest = tokens;
    while let Some(token) = rest.first() {
        if !is_for_tests(rest) {
            kept.push(token.clone());
            rest = &rest[1..];
            continue;
        }
        while starts_with(rest, &["#", "["]) {
            rest = &rest[1 + group(&rest[1..])..];
        }
        let item = item(rest);
        if let [.., module, name, end] = item {
            if module.is("mod") && end.is(";") {
                modules.push(name.text.clone());
            }
        }
        rest = &rest[item.len()..];
    }
    (kept, modules)
}

fn starts_with(tokens: &[Token], marks: &[&str]) -> bool {
    tokens.len() >= marks.len() && tokens.iter().zip(marks).all(|(token, mark)| token.is(mark))
}

/// Whether an attribute is `#[cfg(test)]`, or allows tests among others.
fn is_for_tests(tokens: &[Token]) -> bool {
    ["any", "all"]
        .into_iter()
        .any(|combined| starts_with(tokens, &["#", "[", "cfg", "(", combined, "(", "test"]))
        || starts_with(tokens, &["#", "[", "cfg", "(", "test"])
}

/// The number of tokens of a group that opens here, with its ends.
pub(super) fn group(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Mark {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The item that begins here: to its `;`, or to the end of its body.
fn item(tokens: &[Token]) -> &[Token] {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token.is(";") {
            return &tokens[..=at];
        }
        let is_body = token.is("{");
        at += group(&tokens[at..]);
        if is_body {
            // An import ends behind its braces.
            let more = tokens.get(at).is_some_and(|next| next.is(";"));
            return &tokens[..at + usize::from(more)];
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_for_tests_are_left_out_and_their_files_named() {
        let source = "use a::b; #[cfg(test)] mod elsewhere; #[cfg(test)] use c::{d}; \
             #[cfg(any(test, feature = \"x\"))] #[allow(y)] pub fn f(a: [u8; 3]) -> u8 { g() } \
             #[cfg(test)] mod inline { fn h() {} } #[derive(Debug)] struct S;";
        let (tokens, modules) = without_tests(&read(source));
        let kept: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(
            kept.join(" "),
            "use a : : b ; # [ derive ( Debug ) ] struct S ;"
        );
        assert_eq!(modules, ["elsewhere"]);
    }
}
