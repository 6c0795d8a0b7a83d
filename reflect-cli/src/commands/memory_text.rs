//! The text of a memory in an editor.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use reflect_types::{Reflection, ReflectionEdit};

use crate::failure::Failure;

/// The fields that can be edited, under the headings of the file.
const HEADINGS: [&str; 5] = [
    "summary",
    "guidance",
    "key_mistake",
    "correct_action",
    "applicable_tools",
];

/// Opens the text in the editor and returns the fields that differ afterwards.
pub(super) fn edited(reflection: &Reflection) -> Result<ReflectionEdit, Failure> {
    let file = EditedFile::create(&write(reflection))?;
    open_editor(&file.0)?;
    let text = fs::read_to_string(&file.0)?;
    Ok(read(&text)?.differences(reflection))
}

/// The fields that an edit sets to another text: their name, and the text before and after.
pub(super) fn differences(
    before: &Reflection,
    edit: &ReflectionEdit,
) -> Vec<(&'static str, String, String)> {
    let mut after = before.clone();
    edit.apply(&mut after);
    let pairs = HEADINGS
        .into_iter()
        .zip(fields(before).into_iter().zip(fields(&after)));
    let changed = pairs.filter(|(_, (before, after))| before != after);
    changed
        .map(|(name, (before, after))| (name, before, after))
        .collect()
}

/// The fields in the order of [`HEADINGS`]; tools are one per line.
fn fields(reflection: &Reflection) -> [String; 5] {
    [
        reflection.summary.clone(),
        reflection.guidance.clone(),
        reflection.key_mistake.clone(),
        reflection.correct_action.clone(),
        reflection.applicable_tools.join("\n"),
    ]
}

fn write(reflection: &Reflection) -> String {
    let mut text = String::from("Change the text below the headings; keep the headings.\n");
    for (heading, field) in HEADINGS.iter().zip(fields(reflection)) {
        // A line of the text that looks like a heading is none.
        let field = field.replace("\n## ", "\n\\## ");
        let quote = if field.starts_with("## ") { "\\" } else { "" };
        text.extend(["\n## ", heading, "\n", quote, &field, "\n"]);
    }
    text
}

/// The fields of an edited file.
struct Fields([String; 5]);

fn read(text: &str) -> Result<Fields, Failure> {
    let mut fields: [Option<String>; 5] = Default::default();
    let mut current = None;
    for line in text.lines() {
        let heading = line.strip_prefix("## ").map(str::trim);
        let known = heading.and_then(|name| HEADINGS.iter().position(|known| *known == name));
        if let Some(index) = known {
            fields[index] = Some(String::new());
            current = Some(index);
        } else if let Some(field) = current.and_then(|index: usize| fields[index].as_mut()) {
            let is_quoted = line.starts_with("\\## ");
            field.push_str(&line[usize::from(is_quoted)..]);
            field.push('\n');
        }
    }
    let mut complete: [String; 5] = Default::default();
    for ((field, heading), read) in complete.iter_mut().zip(HEADINGS).zip(fields) {
        let Some(read) = read else {
            let problem = format!("the heading `## {heading}` is missing: nothing was changed");
            return Err(Failure::general(problem));
        };
        read.trim().clone_into(field);
    }
    Ok(Fields(complete))
}

impl Fields {
    fn differences(self, before: &Reflection) -> ReflectionEdit {
        let changed = |index: usize| {
            let (new, old) = (&self.0[index], &fields(before)[index]);
            (new.as_str() != old.trim()).then(|| new.clone())
        };
        ReflectionEdit {
            summary: changed(0),
            guidance: changed(1),
            key_mistake: changed(2),
            correct_action: changed(3),
            applicable_tools: changed(4).map(|tools| {
                let tools = tools.lines().map(str::trim).filter(|tool| !tool.is_empty());
                tools.map(str::to_owned).collect()
            }),
        }
    }
}

fn open_editor(path: &Path) -> Result<(), Failure> {
    let named = |name| {
        std::env::var(name)
            .ok()
            .filter(|text| !text.trim().is_empty())
    };
    let Some(editor) = named("VISUAL").or_else(|| named("EDITOR")) else {
        return Err(Failure::usage(
            "no editor is set: set $EDITOR, or pass the text with --summary, --guidance, …",
        ));
    };
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let status = command.args(words).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::general(format!(
            "`{editor}` ended with {status}: nothing was changed"
        ))),
        Err(error) => Err(Failure::general(format!(
            "`{editor}` cannot start: {error}"
        ))),
    }
}

/// A file for the editor, which others cannot read; deleted with this value.
struct EditedFile(PathBuf);

impl EditedFile {
    fn create(text: &str) -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let name = format!(
            "reflect-memory-{}-{}.md",
            std::process::id(),
            now.unwrap_or_default().as_nanos()
        );
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let created = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(created)
    }
}

impl Drop for EditedFile {
    fn drop(&mut self) {
        // The system clears the folder in the end.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflection() -> Reflection {
        Reflection {
            summary: "## summary\n\n## guidance\ntwo".to_owned(),
            guidance: "check".to_owned(),
            applicable_tools: vec!["search".to_owned()],
            ..Reflection::default()
        }
    }

    #[test]
    fn an_unchanged_text_is_not_an_edit() {
        let read = read(&write(&reflection())).unwrap();
        let edit = read.differences(&reflection());
        assert_eq!(edit, ReflectionEdit::default());
    }

    #[test]
    fn only_the_changed_fields_are_edited() {
        let text = write(&reflection())
            .replace("check", "check\n## not a heading")
            .replace("search", "search\n pay ");
        let edit = read(&text).unwrap().differences(&reflection());
        let expected = ReflectionEdit {
            guidance: Some("check\n## not a heading".to_owned()),
            applicable_tools: Some(vec!["search".to_owned(), "pay".to_owned()]),
            ..ReflectionEdit::default()
        };
        assert_eq!(edit, expected);
    }

    #[test]
    fn a_lost_heading_is_an_error() {
        let text = write(&reflection()).replace("## guidance", "guidance");
        assert!(read(&text).is_err());
    }
}
