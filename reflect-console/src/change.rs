//! The changes of a memory, in words.

use jiff::Timestamp;
use reflect_types::{ApiKey, ChangeKind, ChangeRecord, Reflection};

use crate::key_name::key_name;
use crate::text::shown;
use crate::time::When;

/// One change of a memory.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) what: &'static str,
    /// What was edited.
    pub(crate) texts: Vec<EditedText>,
    pub(crate) is_superseded: bool,
    pub(crate) note: String,
    pub(crate) key: String,
    pub(crate) when: When,
}

/// A part of a memory before and after an edit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditedText {
    pub(crate) name: &'static str,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Change {
    pub(crate) fn new(change: &ChangeRecord, keys: &[ApiKey], now: Timestamp) -> Self {
        let key = change.key_id.as_ref().map(|key| key_name(keys, key));
        Self {
            what: match change.kind {
                ChangeKind::Edited => "edited",
                ChangeKind::Quarantined => "set aside",
                ChangeKind::Archived => "archived",
                ChangeKind::Merged => "merged",
                ChangeKind::Restored => "restored",
                ChangeKind::Deleted => "deleted",
                _ => "changed",
            },
            texts: edited_texts(change),
            is_superseded: change.superseded,
            note: change.note.as_deref().map(shown).unwrap_or_default(),
            key: key.unwrap_or_default(),
            when: When::at(&change.created_at, now),
        }
    }
}

type Text = fn(&Reflection) -> String;

/// The texts that differ after an edit.
fn edited_texts(change: &ChangeRecord) -> Vec<EditedText> {
    let (Some(before), Some(edit)) = (&change.before, &change.edit) else {
        return Vec::new();
    };
    let mut after = before.clone();
    edit.apply(&mut after);
    let kinds: [(&str, Text); 5] = [
        ("Next time", |text| shown(&text.guidance)),
        ("Summary", |text| shown(&text.summary)),
        ("Mistake", |text| shown(&text.key_mistake)),
        ("Instead", |text| shown(&text.correct_action)),
        ("Tools", |text| shown(&text.applicable_tools.join(", "))),
    ];
    kinds
        .into_iter()
        .map(|(name, of)| EditedText {
            name,
            before: of(before),
            after: of(&after),
        })
        .filter(|text| text.before != text.after)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_shows_the_texts_that_differ() {
        let record = json!({
            "id": "c", "memory_id": "m", "kind": "edited", "created_at": "2026-11-16T00:00:00Z",
            "before": {"summary": "kept", "guidance": "old\u{202e}"},
            "edit": {"summary": "kept", "guidance": "new", "key_mistake": ""},
        });
        let record: ChangeRecord = serde_json::from_value(record).unwrap();
        let change = Change::new(&record, &[], Timestamp::UNIX_EPOCH);
        let [text] = &change.texts[..] else {
            panic!("{change:?}");
        };
        assert_eq!((text.name, text.after.as_str()), ("Next time", "new"));
        assert!(text.before.starts_with("old") && !text.before.contains('\u{202e}'));
    }
}
