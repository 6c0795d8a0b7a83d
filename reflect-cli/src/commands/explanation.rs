//! `reflect memories query --explain`.

use reflect_types::{Evidence, Explanation};

use crate::failure::Failure;
use crate::output;

/// The number of memories that are shown beside the answer.
const OTHERS: usize = 10;

/// Prints the answer with its numbers, and the memories that came next with the reason why they are not
/// in it.
pub(super) fn show(explanation: &Explanation) -> Result<(), Failure> {
    let answer = explanation.memories.iter().filter(|m| m.rank.is_some());
    let given = answer.count();
    let shown = (given + OTHERS).min(explanation.memories.len());
    output::table(
        &explanation.memories[..shown],
        &[
            ("RANK", &|memory| output::or_nothing(memory.rank.as_ref())),
            ("SCORE", &|memory| format!("{:.2}", memory.score)),
            ("SIMILARITY", &|memory| format!("{:.2}", memory.similarity)),
            ("UTILITY", &|memory| format!("{:.2}", memory.q_value)),
            ("EVIDENCE", &|memory| {
                memory.evidence.as_ref().map_or_else(String::new, words)
            }),
            ("LEFT OUT BY", &|memory| {
                output::or_nothing(memory.dropped.as_ref())
            }),
            ("ID", &|memory| memory.id.to_string()),
            ("TASK", &|memory| output::line(&memory.task, 60)),
        ],
    )?;
    output::say(format_args!(
        "{given} in the answer, {} of {} shown, by the {} ranking; least similarity {:.2}{}.",
        shown,
        output::counted(explanation.considered as u64, "memory"),
        explanation.ranking,
        explanation.floor,
        match explanation.unembedded {
            0 => String::new(),
            waiting => format!("; {waiting} more wait to be embedded with the server's embedder"),
        }
    ))
}

/// The evidence in words: `8 of 9 runs passed; helps all tasks 12 %, similar ones 84 %, hurts 4 %`. Without runs, the
/// figures are what the project expects of a new memory.
fn words(evidence: &Evidence) -> String {
    let [helps, helps_if_similar, hurts] =
        [evidence.helps, evidence.helps_if_similar, evidence.hurts].map(|share| share * 100.0);
    let runs = match evidence.runs {
        0 => "no runs yet; assumed:".to_owned(),
        runs => {
            let runs = output::counted(runs.into(), "run");
            format!("{} of {runs} passed;", evidence.passed)
        }
    };
    format!(
        "{runs} helps all tasks {helps:.0} %, similar ones {helps_if_similar:.0} %, hurts {hurts:.0} %"
    )
}
