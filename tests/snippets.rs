//! Code of a page that is not compiled with it is part of a program that is.

use std::path::Path;

/// A page, and the programs that its code is from.
const PAGES: [(&str, &[&str]); 2] = [
    (
        "rust-frameworks.md",
        &[
            "../integrations/examples/rig.rs",
            "../integrations/examples/genai.rs",
            "../integrations/examples/rig_spans.rs",
            "../integrations/examples/genai_spans.rs",
        ],
    ),
    ("tutorial.md", &["tutorial.rs"]),
];

#[test]
fn code_of_every_page_is_compiled_or_part_of_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let compiled = include_str!("readme.rs");
    for page in std::fs::read_dir(root.join("docs")).unwrap().flatten() {
        let Ok(text) = std::fs::read_to_string(page.path()) else {
            continue;
        };
        let name = page.file_name().into_string().unwrap();
        let is_listed = PAGES.iter().any(|(page, _)| *page == name);
        assert!(is_listed || !text.contains("```rust,ignore"), "{name}");
        let is_compiled = compiled.contains(&format!("docs/{name}"));
        let code = text.matches("```rust").count() - text.matches("```rust,ignore").count();
        assert!(is_compiled || code == 0, "{name} is not in readme.rs");
    }
}

#[test]
fn uncompiled_code_of_pages_is_part_of_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (page, programs) in PAGES {
        let text = std::fs::read_to_string(root.join("docs").join(page)).unwrap();
        let programs = programs.iter().map(|program| {
            let program = root.join("examples").join(program);
            unindented(&std::fs::read_to_string(program).unwrap())
        });
        let programs: Vec<String> = programs.collect();
        let blocks = text.split("```rust,ignore\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        let blocks: Vec<String> = blocks.map(unindented).collect();
        assert!(!blocks.is_empty(), "{page}");
        for block in blocks {
            let is_there = programs.iter().any(|program| program.contains(&block));
            assert!(is_there, "{page}: no example has\n{block}");
        }
    }
}

fn unindented(code: &str) -> String {
    code.lines().flat_map(|line| [line.trim(), "\n"]).collect()
}
