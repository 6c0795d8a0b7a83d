//! What an index follows: changed memories.

use reflect_types::{MemoryId, ProjectId};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{embedders, projects, row};
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
    let answer = MemoryChanges {
        reset: since.epoch != project,
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

pub(super) async fn since_revision(
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
    changes.extend(gone_since(db, project, since, limit).await?);
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
    let rows = db
        .query(
            "SELECT m.revision, m.key, m.q, m.metadata, \
                 CASE WHEN m.status <> 'withdrawn' THEN e.vector END, m.id, \
                 m.success, m.given, m.alpha, m.status = 'active' AND m.aside IS NULL, m.aside, \
                 m.uses, CASE WHEN restored.at IS NOT NULL THEN ( \
                     SELECT count(*) FROM utility_event u WHERE u.memory = m.key \
                         AND NOT u.aside AND u.created_at <= restored.at) END, \
                 m.status = 'quarantined', m.aside_into, m.task_sketch, m.text_sketch, \
                 m.needs_approval AND p.approve IS NOT NULL \
                     AND (p.approve <> 'models' OR m.reviewer_model IS NOT NULL), \
                 (SELECT x.key FROM memory x WHERE x.project = m.project AND x.id = \
                     (SELECT c.merged_into FROM memory_change c WHERE c.project = m.project \
                         AND c.memory_id = m.id AND NOT c.closed AND NOT c.automatic \
                         AND c.kind <> 'edited' ORDER BY c.key DESC LIMIT 1)) \
             FROM memory m JOIN project p ON p.key = m.project \
                 LEFT JOIN embedding e ON e.memory = m.key AND e.embedder = $2 \
                 CROSS JOIN LATERAL (SELECT max(c.created_at) AS at FROM memory_change c \
                     WHERE c.project = m.project AND c.memory_id = m.id AND NOT c.closed \
                         AND c.kind = 'restored' AND NOT c.automatic) restored \
             WHERE m.project = $1 AND m.revision > $3 ORDER BY m.revision LIMIT $4",
            params![project, embedder, since, row::limit(limit)],
        )
        .await?;
    let mut changes = Vec::new();
    for found in &rows {
        let (revision, key) = (found.get(0)?, found.get(1)?);
        let change = match found.get::<Option<Vec<f32>>>(4)? {
            None => MemoryChange::Gone(key),
            Some(vector) => MemoryChange::Put(Box::new(IndexedMemory {
                key,
                id: MemoryId::new(found.get::<String>(5)?),
                vector,
                q: found.get(2)?,
                metadata: row::json(found, 3)?,
                passed: found.get(6)?,
                given: row::json(found, 7)?,
                alpha: found.get(8)?,
                shown: found.get(9)?,
                aside: row::optional_name(found, 10)?,
                uses: row::count(found, 11)?,
                excused: row::optional_count(found, 12)?,
                quarantined: found.get(13)?,
                merged_into: found.get(14)?,
                task: row::sketch(found, 15)?,
                text: row::sketch(found, 16)?,
                needs_approval: found.get(17)?,
                merge_into: found.get(18)?,
            })),
        };
        changes.push((revision, change));
    }
    Ok(changes)
}

async fn gone_since(
    db: &Db<'_>,
    project: i64,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    let gone = db
        .query(
            "SELECT revision, memory FROM deleted_memory WHERE project = $1 AND revision > $2 \
             ORDER BY revision LIMIT $3",
            params![project, since, row::limit(limit)],
        )
        .await?;
    let gone = gone.iter();
    gone.map(|row| Ok((row.get(0)?, MemoryChange::Gone(row.get(1)?))))
        .collect()
}
