use serde::{Deserialize, Serialize};

use super::shapes::{about_one, newest_first};
use crate::id::MemoryId;
use crate::layout::Layout;
use crate::memory_status::MemoryStatus;
use crate::reflection::ReflectionEdit;
use crate::validate::{InvalidField, Validate, at_most};

/// What to change of a memory. What is not set stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryUpdate {
    /// The fields of the reflection to set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<ReflectionEdit>,
    /// What the memory says, as far as the caller knows. If it says something else by now, and not what the edit makes
    /// of it, nothing is changed, and the reply is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<ReflectionEdit>,
    /// `quarantined` leaves the memory out of queries and skills, but lets it keep learning. `active`
    /// restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_settable_status))]
    pub status: Option<MemoryStatus>,
    /// The memory to merge it into: that one stands for both, and this one is out of answers until a person
    /// restores it, or that one is gone. Not together with `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<MemoryId>))]
    pub merge_into: Option<MemoryId>,
    /// The reason, for the record of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1000))]
    pub note: Option<String>,
}

impl MemoryUpdate {
    /// The maximum length of a note.
    pub const MAX_NOTE: usize = 1_000;
}

impl Validate for MemoryUpdate {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.reflection.is_none() && self.status.is_none() && self.merge_into.is_none() {
            let problem = "or `status` or `merge_into` is needed: say what to change";
            return Err(InvalidField::new("reflection", problem));
        }
        if self.status.is_some() && self.merge_into.is_some() {
            let problem = "and `status` exclude each other: send one of them";
            return Err(InvalidField::new("merge_into", problem));
        }
        if self
            .status
            .as_ref()
            .is_some_and(|status| !status.is_settable())
        {
            let problem = "must be `active` or `quarantined`";
            return Err(InvalidField::new("status", problem));
        }
        if let Some(known) = &self.known {
            known.validate_known()?;
        }
        if let Some(note) = &self.note {
            at_most("note", note, Self::MAX_NOTE)?;
        }
        self.reflection.as_ref().map_or(Ok(()), Validate::validate)
    }
}

/// Edits, quarantines or restores a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateMemory {
    /// The memory to change.
    pub memory_id: MemoryId,
    /// What to change.
    pub update: MemoryUpdate,
}

impl UpdateMemory {
    /// The request for this memory.
    pub fn new(memory_id: impl Into<MemoryId>, update: MemoryUpdate) -> Self {
        Self {
            memory_id: memory_id.into(),
            update,
        }
    }
}

impl Validate for UpdateMemory {
    fn validate(&self) -> Result<(), InvalidField> {
        self.memory_id.validate()?;
        if self.update.merge_into.as_ref() == Some(&self.memory_id) {
            let problem = "is the memory itself: name another one";
            return Err(InvalidField::new("merge_into", problem));
        }
        self.update.validate()
    }
}

impl Layout for UpdateMemory {
    fn id(&self) -> Option<&str> {
        Some(self.memory_id.as_str())
    }

    fn body(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&self.update)
    }
}

about_one! {
    /// Deletes a memory with its events.
    DeleteMemory(
        /// The memory to delete.
        memory_id: MemoryId
    );
}

newest_first! {
    /// Lists the changes of all memories, newest first.
    ListMemoryChanges;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(update: &str) -> String {
        let update: MemoryUpdate = serde_json::from_str(update).unwrap();
        update.validate().unwrap_err().field.to_owned()
    }

    #[test]
    fn an_update_says_what_to_change() {
        assert_eq!(refused(r#"{"note": "why"}"#), "reflection");
        assert_eq!(refused(r#"{"reflection": {}}"#), "reflection");
        assert_eq!(refused(r#"{"status": "withdrawn"}"#), "status");
        assert_eq!(
            refused(r#"{"status": "active", "merge_into": "m"}"#),
            "merge_into"
        );
        let update: MemoryUpdate = serde_json::from_str(r#"{"merge_into": "m"}"#).unwrap();
        assert_eq!(UpdateMemory::new("n", update.clone()).validate(), Ok(()));
        let refused_itself = UpdateMemory::new("m", update).validate().unwrap_err();
        assert_eq!(refused_itself.field, "merge_into");
        assert_eq!(refused(r#"{"reflection": {"summary": " "}}"#), "summary");
        let note = "n".repeat(MemoryUpdate::MAX_NOTE + 1);
        let long = format!(r#"{{"status": "active", "note": "{note}"}}"#);
        assert_eq!(refused(&long), "note");
        let edit: MemoryUpdate =
            serde_json::from_str(r#"{"reflection": {"key_mistake": ""}}"#).unwrap();
        assert_eq!(edit.validate(), Ok(()));
    }
}
