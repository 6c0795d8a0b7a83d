//! More memories than a run could learn in a reasonable time.

use reflect_engine::store::Postgres;

/// Copies memories of the project, each with the sum of two vectors, until it has this many.
pub(crate) async fn fill(address: &str, memories: usize) {
    let store = Postgres::connect_with(address, 1).await.unwrap();
    let connection = store.pool().get().await.unwrap();
    let fill = format!(
        "CREATE TEMP TABLE old AS SELECT m.*, e.embedder, e.vector, \
             row_number() OVER (ORDER BY m.key) AS at, count(*) OVER () AS many \
         FROM memory m JOIN embedding e ON e.project = m.project AND e.memory = m.key \
             JOIN project p ON p.key = m.project WHERE p.id = 'load'; \
         CREATE INDEX ON old (at); \
         CREATE TEMP TABLE new AS SELECT n, a.*, b.vector AS other \
         FROM (SELECT max(many) AS many FROM old) o \
             CROSS JOIN LATERAL generate_series(1, {memories} - o.many) n \
             JOIN old a ON a.at = 1 + n % o.many JOIN old b ON b.at = 1 + n / o.many * 7919 % o.many; \
         INSERT INTO memory (project, id, trace_id, success, q, uses, revision, created_at, alpha, \
             metadata, task, reflection) \
         SELECT project, 'filled-{memories}-' || n, trace_id, n % 2 = 0, (n % 97) / 97.0, 0, \
             (SELECT revision FROM project WHERE id = 'load') + n, created_at, alpha, metadata, \
             task || ' ' || n, reflection FROM new ORDER BY n; \
         INSERT INTO embedding (project, memory, embedder, vector) \
         SELECT m.project, m.key, n.embedder, n.vector + n.other FROM new n \
             JOIN memory m ON m.project = n.project AND m.id = 'filled-{memories}-' || n.n; \
         UPDATE project SET revision = revision + {memories} WHERE id = 'load'; \
         DROP TABLE old, new; ANALYZE memory, embedding"
    );
    connection.batch_execute(&fill).await.unwrap();
}
