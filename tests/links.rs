//! Every link of a page to another file, or to a heading, leads somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn links_of_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut pages = Vec::new();
    collect(root, &mut pages);
    assert!(pages.len() > 20, "{pages:?}");
    let broken: Vec<String> = pages.iter().flat_map(|page| broken(page)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The Markdown files of the repository.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            if name != "target" && (!name.starts_with('.') || name == ".github") {
                collect(&path, pages);
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

fn broken(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let is_broken = |target: &&str| {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let file = match file {
            "" => page.to_owned(),
            file => page.parent().unwrap().join(file),
        };
        !file.exists() || !heading.is_empty() && !headings(&file).contains(heading)
    };
    let targets = targets(&text).into_iter().filter(|target| is_file(target));
    let broken = targets.filter(is_broken);
    broken
        .map(|target| format!("{}: {target}", page.display()))
        .collect()
}

/// What `[text](target)` names, outside of code.
fn targets(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let parts = line.split("](").skip(1);
            targets.extend(parts.filter_map(|part| part.split_once(')').map(|(target, _)| target)));
        }
    }
    targets
}

/// Whether a target is a file or a heading, not an address. An item of the documentation counts as a file that is not
/// there: a code host does not find it either.
fn is_file(target: &str) -> bool {
    let is_item = target.contains("::");
    !target.contains("://") && (is_item || target.contains('.') || target.starts_with('#'))
}

/// The names that a code host gives to the headings of a page.
fn headings(page: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(page).unwrap_or_default();
    let mut in_code = false;
    let mut headings = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            headings.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    headings
}
