use reflect_types::{ApiKey, KeyId};

use crate::text::{line, shown};

/// How people call a key: by its label if they may know it.
pub(crate) fn key_name(keys: &[ApiKey], id: &KeyId) -> String {
    let known = keys.iter().find(|key| key.id == *id);
    match known {
        Some(key) => line(&key.label, 60),
        None if id.as_str() == KeyId::MASTER => "the server's own key".to_owned(),
        None => shown(id.as_str()),
    }
}
