//! Fields of JSON objects.

use serde::ser::{Serialize, SerializeMap};
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

/// Writes a field that has a value.
pub(super) fn put<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<&(impl Serialize + ?Sized)>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

/// Writes the other fields, except those that have a value of their own.
pub(super) fn put_others<M: SerializeMap>(
    map: &mut M,
    others: &Map<String, Value>,
    is_own: impl Fn(&str) -> bool,
) -> Result<(), M::Error> {
    let mut others = others.iter().filter(|(key, _)| !is_own(key));
    others.try_for_each(|(key, value)| map.serialize_entry(key, value))
}
