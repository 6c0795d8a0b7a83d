//! Statements as SQLite has them.

use std::collections::BTreeMap;
use std::sync::RwLock;

use crate::store::sql::dialect::Dialect;

/// Words that SQLite has for what differs between databases.
pub(super) static DIALECT: Dialect = Dialect {
    words: &[
        ("{NEW_KEY}", "INTEGER PRIMARY KEY AUTOINCREMENT"),
        // The number of the row itself, which needs no index.
        ("{KEY_IN_PROJECT}", "key INTEGER PRIMARY KEY AUTOINCREMENT"),
        ("{PRIMARY_KEY}", ""),
        ("{REFERENCED_KEY}", ", UNIQUE (project, key)"),
        ("{TEXT}", "TEXT"),
        ("{INT}", "INTEGER"),
        ("{REAL}", "REAL"),
        ("{BOOL}", "INTEGER"),
        ("{VECTOR}", "BLOB"),
        ("{TABLE}", " STRICT"),
        ("{TABLE_OFTEN_UPDATED}", " STRICT"),
        ("{TABLE_OF_KEYS}", " STRICT, WITHOUT ROWID"),
        ("{WORDS}", ""),
        ("{SEARCH}", SEARCH),
        ("{WORDS_COLUMN}", ""),
        ("{WORDS_VALUE}", ""),
        (
            "{SEARCHED_TRACES}",
            "trace_text f CROSS JOIN trace t ON t.key = f.rowid",
        ),
        ("{SEARCHED_KEY}", "f.rowid"),
        ("{MATCHES}", "trace_text MATCH $4"),
        ("{JSON_FIELD}", "t.metadata -> $4"),
        // One writes at a time.
        ("{SHARE_TRACES}", ""),
        ("{LOCK_TRACES}", ""),
        // In this order, which the planner would otherwise guess.
        ("{THEN}", "CROSS JOIN"),
    ],
    translate,
    search: ("\"", "\"*", " AND "),
    search_within: |words, project| format!("project : \"{project}\" AND task : ({words})"),
    locks_rows: false,
    written: RwLock::new(BTreeMap::new()),
};

/// The words of tasks, without the tasks; a row's number is that of its trace.
const SEARCH: &str = "
CREATE VIRTUAL TABLE trace_text USING fts5 (
    project, task, content='', contentless_delete=1, detail='column'
);

CREATE TRIGGER trace_text_insert AFTER INSERT ON trace BEGIN
    INSERT INTO trace_text (rowid, project, task) VALUES (new.key, new.project, new.task);
END;

CREATE TRIGGER trace_text_delete AFTER DELETE ON trace BEGIN
    DELETE FROM trace_text WHERE rowid = old.key;
END;";

/// Rewrites what PostgreSQL has and SQLite says otherwise: parameters, casts, lists, locks and a function.
fn translate(sql: &str) -> String {
    let sql = strip_casts(sql).replace('$', "?");
    let sql = lists(&sql).replace("greatest(", "max(");
    match sql.find(" FOR ") {
        Some(_) => strip_locks(&sql),
        None => sql,
    }
}

/// `::text` and the like.
fn strip_casts(sql: &str) -> String {
    let mut parts = sql.split("::");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | ']');
        written.push_str(part.trim_start_matches(is_type));
    }
    written
}

/// `= ANY(?1)`, whose parameter is a JSON array here.
fn lists(sql: &str) -> String {
    let mut parts = sql.split("= ANY(");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (parameter, rest) = part.split_once(')').unwrap_or((part, ""));
        written.push_str("IN (SELECT value FROM json_each(");
        written.push_str(parameter);
        written.push_str("))");
        written.push_str(rest);
    }
    written
}

/// Locks of rows: one writes at a time.
fn strip_locks(sql: &str) -> String {
    [
        " FOR NO KEY UPDATE",
        " FOR UPDATE SKIP LOCKED",
        " FOR UPDATE",
    ]
    .iter()
    .fold(sql.to_owned(), |sql, lock| sql.replace(lock, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_postgresql_has_is_said_otherwise() {
        let statement = "SELECT greatest(a, $1::bigint) FROM t WHERE id = ANY($2) AND b > $3::text[] \
             ORDER BY c FOR UPDATE SKIP LOCKED";
        assert_eq!(
            &*DIALECT.write(statement),
            "SELECT max(a, ?1) FROM t WHERE id IN (SELECT value FROM json_each(?2)) AND b > ?3 ORDER BY c"
        );
    }

    #[test]
    fn a_search_matches_beginnings_of_words_in_its_project() {
        assert_eq!(
            DIALECT.search(&["refund".to_owned(), "7".to_owned()], 3),
            "project : \"3\" AND task : (\"refund\"* AND \"7\"*)"
        );
    }
}
