//! What databases have different words for.

/// The words of a database, in place of names in braces in statements and in `schema.sql`.
#[derive(Debug)]
pub(in crate::store) struct Dialect {
    /// Names and what stands for them.
    pub(in crate::store) words: &'static [(&'static str, &'static str)],
    /// Rewrites what has another form; the text as PostgreSQL has it comes in.
    pub(in crate::store) translate: fn(String) -> String,
    /// A search of tasks with a word for each of these beginnings, in the form that `{MATCHES}` reads, within the
    /// project of this key.
    pub(in crate::store) search: fn(&[String], i64) -> String,
    /// Whether transactions run side by side, and lock the rows they read.
    pub(in crate::store) locks_rows: bool,
}

impl Dialect {
    /// A statement in the words of the database.
    pub(in crate::store) fn write(&self, sql: &str) -> String {
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
        (self.translate)(written)
    }
}
