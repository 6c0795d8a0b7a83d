use askama::Template;
use jiff::Timestamp;
use reflect_types::{ApiKey, CreatedApiKey, KeyId, KeyStatus, Scope};

use crate::frame::Frame;
use crate::path::{in_project, query};
use crate::text::shown;
use crate::time::When;

/// The keys of a project.
#[derive(Debug, Template)]
#[template(path = "keys.html")]
pub struct KeysPage {
    frame: Frame,
    keys: Vec<Row>,
    scopes: Vec<(String, &'static str)>,
    /// The label and the text of a new key.
    created: Option<(String, String)>,
}

#[derive(Debug)]
struct Row {
    label: String,
    public_id: String,
    scopes: Vec<String>,
    state: &'static str,
    class: &'static str,
    is_active: bool,
    is_own: bool,
    created: Option<When>,
    used: Option<When>,
    expires: Option<When>,
    max_alpha: Option<f64>,
    revoke: String,
    undo: String,
}

impl KeysPage {
    /// The page of these keys. `grantable` are the scopes that the visitor may give to a new one.
    pub fn new(
        frame: Frame,
        keys: &[ApiKey],
        own: &KeyId,
        grantable: &[Scope],
        created: Option<&CreatedApiKey>,
        now: Timestamp,
    ) -> Self {
        let rows = keys.iter().rev().map(|key| Row::new(&frame, key, own, now));
        Self {
            keys: rows.collect(),
            scopes: grantable
                .iter()
                .map(|scope| (scope.to_string(), about(scope)))
                .collect(),
            created: created.map(|made| (shown(&made.key.label), made.api_key.clone())),
            frame: frame.on("keys"),
        }
    }
}

impl Row {
    fn new(frame: &Frame, key: &ApiKey, own: &KeyId, now: Timestamp) -> Self {
        let end = key
            .expires_at
            .as_deref()
            .and_then(|end| end.parse::<Timestamp>().ok());
        let has_expired = end.is_some_and(|end| end <= now);
        let (state, class) = match (&key.status, has_expired) {
            (KeyStatus::Revoked, _) => ("revoked", ""),
            (_, true) => ("expired", "warn"),
            _ => ("active", "pass"),
        };
        let when = |time: &Option<String>| time.as_deref().map(|time| When::at(time, now));
        let id = key.id.as_str();
        Self {
            label: shown(&key.label),
            public_id: shown(&key.public_id),
            scopes: key
                .scopes
                .iter()
                .map(|scope| shown(scope.as_str()))
                .collect(),
            state,
            class,
            is_active: state == "active",
            is_own: key.id == *own,
            created: when(&key.created_at),
            used: when(&key.last_used_at),
            max_alpha: key.max_alpha,
            expires: when(&key.expires_at),
            revoke: in_project(&frame.project, &["keys", id, "revoke"]),
            undo: format!("{}{}", frame.to("undo"), query(&[("key", id)])),
        }
    }
}

/// What a scope allows.
fn about(scope: &Scope) -> &'static str {
    match scope {
        Scope::MemoryRead => "query memories",
        Scope::MemoryWrite => "write memories directly",
        Scope::MemoryAdmin => "edit, set aside and delete memories",
        Scope::TraceRead => "list and read traces",
        Scope::TraceWrite => "record traces",
        Scope::TraceAdmin => "delete traces of other keys",
        Scope::ReviewWrite => "review traces",
        Scope::SkillRead => "read the skill",
        Scope::SkillWrite => "write the skill",
        Scope::KeyAdmin => "manage keys",
        Scope::ProjectAdmin => "undo, export, import, settings",
        _ => "",
    }
}
