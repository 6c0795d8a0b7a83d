//! What an index follows: changed memories.

use reflect_types::ProjectId;

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::value::params;
use super::{embedders, projects};
use crate::store::{IndexedMemory, MemoryChange, MemoryChanges, Revision, VectorSpace};

/// What is to be read after a look.
pub(super) enum Follow {
    /// Nothing: this is the answer.
    Nothing(MemoryChanges),
    /// The changes since this number.
    Since(i64, MemoryChanges),
}

/// Looks whether something has changed.
pub(super) async fn look(
    db: &Db<'_>,
    project: &ProjectId,
    since: Revision,
) -> Result<Follow, Fault> {
    let Some((project, number, settings)) = projects::recalled(db, project).await? else {
        return Ok(Follow::Nothing(MemoryChanges {
            reset: since.epoch != 0,
            ..MemoryChanges::default()
        }));
    };
    let is_forgotten = since.number > 0 && number - since.number > Revision::FOLLOWED;
    let answer = MemoryChanges {
        reset: since.epoch != project || is_forgotten,
        revision: Revision {
            epoch: project,
            number,
        },
        settings,
        ..MemoryChanges::default()
    };
    let since = if answer.reset { 0 } else { since.number };
    if since >= number {
        return Ok(Follow::Nothing(answer));
    }
    Ok(Follow::Since(since, answer))
}

/// The changes since a revision.
pub(super) async fn since(
    db: &Db<'_>,
    project: &ProjectId,
    space: &VectorSpace,
    since: Revision,
    limit: usize,
) -> Result<MemoryChanges, Fault> {
    let (since, mut answer) = match look(db, project, since).await? {
        Follow::Nothing(answer) => return Ok(answer),
        Follow::Since(since, answer) => (since, answer),
    };
    let Revision {
        epoch: project,
        number,
    } = answer.revision;
    let embedder = embedders::key(db, space).await?;
    let mut changes = put_since(db, project, embedder, since, limit).await?;
    // An index that begins has none of them.
    if since > 0 {
        changes.extend(gone_since(db, project, since, limit).await?);
    }
    changes.sort_unstable_by_key(|(revision, _)| *revision);
    // Either list may end at the limit, so nothing beyond it is known.
    if changes.len() >= limit {
        changes.truncate(limit);
        if let Some((last, _)) = changes.last() {
            answer.more = *last < number;
            answer.revision.number = *last;
        }
    }
    answer.changes = changes.into_iter().map(|(_, change)| change).collect();
    Ok(answer)
}

async fn put_since(
    db: &Db<'_>,
    project: i64,
    embedder: Option<i64>,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    // A person's changes of a memory, which most have none of.
    let by_people = "FROM memory_change c WHERE c.project = m.project AND c.memory_id = m.id \
         AND NOT c.closed AND NOT c.automatic";
    let select = format!(
        "SELECT m.revision, m.key, CASE WHEN m.status <> 'withdrawn' THEN e.vector END AS vector, m.id, \
             m.q, m.metadata, m.success, m.given, m.alpha, \
             m.status = 'active' AND m.hidden IS NULL AS shown, m.hidden, m.uses, \
             (SELECT count(*) FROM utility_event u WHERE u.project = m.project AND u.memory = m.key \
                 AND NOT u.void AND u.created_at <= (SELECT max(c.created_at) {by_people} \
                     AND c.kind = 'restored')) AS restored_uses, \
             (SELECT max(c.key) {by_people} AND c.kind = 'restored') AS restored, \
             m.status = 'quarantined' AS quarantined, m.hidden_into, m.task_sketch, m.text_sketch, \
             m.needs_approval AND p.approve IS NOT NULL \
                 AND (p.approve <> 'models' OR coalesce(m.reviewer, 'program') <> 'program') AS needs_approval, \
             (SELECT x.key FROM memory x WHERE x.project = m.project AND x.id = \
                 (SELECT c.merged_into {by_people} AND c.kind <> 'edited' \
                     ORDER BY c.key DESC LIMIT 1)) AS merge_into \
         FROM memory m JOIN project p ON p.key = m.project \
             LEFT JOIN embedding e ON e.project = m.project AND e.memory = m.key AND e.embedder = $2 \
         WHERE m.project = $1 AND m.revision > $3 ORDER BY m.revision LIMIT $4"
    );
    let rows = db
        .query(&select, &params![project, embedder, since, limit])
        .await?;
    let changes = rows.into_iter().map(|mut row| {
        let change = match row.take_vector("vector")? {
            None => MemoryChange::Gone(row.get("key")?),
            Some(vector) => MemoryChange::Put(Box::new(indexed(&row, vector)?)),
        };
        Ok((row.get("revision")?, change))
    });
    changes.collect()
}

fn indexed(row: &Row, vector: Vec<f32>) -> Result<IndexedMemory, Fault> {
    let restored: Option<i64> = row.get("restored")?;
    Ok(IndexedMemory {
        key: row.get("key")?,
        id: row.get("id")?,
        vector,
        q: row.get("q")?,
        metadata: row.json("metadata")?,
        passed: row.get("success")?,
        given: row.json("given")?,
        alpha: row.get("alpha")?,
        shown: row.get("shown")?,
        hidden: row.get("hidden")?,
        uses: row.get("uses")?,
        uses_at_restore: match restored {
            Some(_) => Some(row.get("restored_uses")?),
            None => None,
        },
        quarantined: row.get("quarantined")?,
        merged_into: row.get("hidden_into")?,
        task: row.parse("task_sketch")?,
        text: row.parse("text_sketch")?,
        needs_approval: row.get("needs_approval")?,
        merge_into: row.get("merge_into")?,
    })
}

async fn gone_since(
    db: &Db<'_>,
    project: i64,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    let select = "SELECT revision, memory FROM deleted_memory WHERE project = $1 AND revision > $2 \
         ORDER BY revision LIMIT $3";
    let rows = db.query(select, &params![project, since, limit]).await?;
    rows.iter()
        .map(|row| Ok((row.get("revision")?, MemoryChange::Gone(row.get("memory")?))))
        .collect()
}
