//! Deciding about reviews, one after the other.

use futures_util::future::try_join_all;
use reflect_types::{ProjectId, TraceId};

use super::fault::Fault;
use super::sql::Db;
use super::written::Written;
use super::{projects, reviews, standings};
use crate::review::{self, Action, Decision};

/// Changes the review of a trace.
pub(super) async fn review(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
    action: &Action,
) -> Result<Decision, Fault> {
    projects::lock(db, project).await?;
    let decided = review_all(db, &[(project, id, action)]).await?.pop();
    decided.ok_or_else(|| Fault::Data("a review was not decided".to_owned()))
}

/// Changes reviews of a project that is [locked](projects::lock), in this order.
pub(super) async fn review_all(
    db: &Db<'_>,
    changes: &[(&ProjectId, &TraceId, &Action)],
) -> Result<Vec<Decision>, Fault> {
    // Sent without waiting for each other.
    let standings = changes
        .iter()
        .map(|(project, id, _)| standings::load(db, project, id));
    let standings = try_join_all(standings).await?;
    let mut written = Written::default();
    let mut decisions = Vec::with_capacity(changes.len());
    for (&(project, id, action), loaded) in changes.iter().zip(standings) {
        let loaded = match loaded {
            Some((row, standing)) => match written.brought_to(row.key, standing) {
                Some(standing) => Some((row, standing)),
                None => standings::load(db, project, id).await?,
            },
            None => None,
        };
        let (row, standing) = loaded.unzip();
        decisions.push(match review::decide(standing, action.clone()) {
            Ok(writes) => {
                if let Some(row) = row {
                    reviews::write(db, &row, &writes).await?;
                    written.add(row.key, &writes);
                }
                Ok(())
            }
            Err(refusal) => Err(refusal),
        });
    }
    Ok(decisions)
}
