//! What queries read of a project's index.

use reflect_types::{QueryMemories, Ranking};

use super::rows::Rows;
use super::scan::{Sought, scan};
use super::state::State;
use super::{Error, Shortlist, check};
use crate::rank::{Floor, Learned, Params, Rule};
use crate::store::{RecallSettings, Revision};

/// A query, with the defaults of what it leaves open.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) probe: Vec<f32>,
    pub(crate) query: QueryMemories,
    pub(crate) ranking: Ranking,
    pub(crate) floor: Floor,
}

/// What queries read of a project's index. It never changes: a change is published as another one.
pub(super) struct Published {
    rows: Rows,
    pub(super) learned: Learned,
    pub(super) settings: RecallSettings,
    pub(super) revision: Revision,
    /// Whether what was learned covers all runs.
    pub(super) is_settled: bool,
    /// The memory used by all that is known.
    pub(super) bytes: usize,
}

impl Published {
    pub(super) fn of(state: &State) -> Self {
        Self {
            rows: state.index.rows.clone(),
            learned: Learned::from(&state.credit),
            settings: state.settings.clone(),
            revision: state.revision,
            is_settled: state.credit.is_settled(),
            bytes: state.bytes(),
        }
    }

    /// Whether a probe can be compared with the memories.
    pub(super) fn check(&self, probe: &[f32]) -> Result<(), Error> {
        check(self.rows.dims(), probe)
    }

    /// The shortlists of these queries, whose probes were checked.
    pub(super) fn shortlists(&self, queries: &[&Asked]) -> Vec<Shortlist> {
        let sought = queries.iter().map(|asked| {
            let ranking = self.settings.ranking.as_ref().unwrap_or(&asked.ranking);
            let rule = Rule::of(&asked.query, ranking, self.learned);
            Sought {
                probe: &asked.probe,
                params: Params::new(&asked.query, rule, asked.floor),
                filter: asked.query.metadata_filter.as_ref(),
            }
        });
        let sought: Vec<_> = sought.collect();
        scan(self.rows.blocks(), &sought)
    }
}
