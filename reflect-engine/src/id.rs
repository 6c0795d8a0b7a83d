use uuid::Uuid;

/// A unique id that sorts by creation time.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
}
