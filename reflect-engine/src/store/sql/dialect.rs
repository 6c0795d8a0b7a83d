//! What databases have different words for.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The words of a database, in place of names in braces in statements and in `schema.sql`.
#[derive(Debug)]
pub(in crate::store) struct Dialect {
    /// Names and what stands for them.
    pub(in crate::store) words: &'static [(&'static str, &'static str)],
    /// Rewrites what has another form; the text as PostgreSQL has it comes in.
    pub(in crate::store) translate: fn(&str) -> String,
    /// How the words of a search are written, between what stands before and behind each, and what joins them.
    pub(in crate::store) search: (&'static str, &'static str, &'static str),
    /// Restricts a search to the project of this key, if it has to be said in the search.
    pub(in crate::store) search_within: fn(String, i64) -> String,
    /// Whether transactions run side by side, and lock the rows they read.
    pub(in crate::store) locks_rows: bool,
    /// The statements that were written before: there are not many.
    pub(in crate::store) written: RwLock<BTreeMap<String, Arc<str>>>,
}

impl Dialect {
    /// A search of the project's tasks that have a word with each of these beginnings, as `{MATCHES}` reads it. They
    /// have no other characters than letters and digits, and need no escape.
    pub(in crate::store) fn search(&self, words: &[String], project: i64) -> String {
        let (before, behind, and) = self.search;
        let words = words.iter().map(|word| format!("{before}{word}{behind}"));
        (self.search_within)(words.collect::<Vec<_>>().join(and), project)
    }

    /// A statement in the words of the database.
    pub(in crate::store) fn write(&self, sql: &str) -> Arc<str> {
        let known = self.written.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(written) = known.get(sql) {
            return Arc::clone(written);
        }
        drop(known);
        let written: Arc<str> = self.rewrite(sql).into();
        let mut known = self.written.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(sql.to_owned(), Arc::clone(&written));
        written
    }

    fn rewrite(&self, sql: &str) -> String {
        let mut written = String::with_capacity(sql.len() + 64);
        let mut rest = sql;
        while let Some(open) = rest.find('{') {
            let (before, word) = rest.split_at(open);
            written.push_str(before);
            let end = word.find('}').map_or(word.len(), |end| end + 1);
            let (name, after) = word.split_at(end);
            let known = self.words.iter().find(|(known, _)| *known == name);
            written.push_str(known.map_or(name, |(_, text)| text));
            rest = after;
        }
        written.push_str(rest);
        (self.translate)(&written)
    }
}
