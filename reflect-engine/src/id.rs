use uuid::Uuid;

/// A memory's key inside its store. A key is never used again.
pub type MemoryKey = i64;

/// A unique id that sorts by creation time.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
}
