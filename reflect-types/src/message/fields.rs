//! Fields of JSON objects.

use serde_json::{Map, Value};

/// Removes a field from the object, unless `read` does not accept its value.
pub(super) fn take<T>(
    fields: &mut Map<String, Value>,
    key: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<T> {
    let read = read(fields.get(key)?)?;
    fields.remove(key);
    Some(read)
}

pub(super) fn take_string(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    take(fields, key, |value| value.as_str().map(str::to_owned))
}
