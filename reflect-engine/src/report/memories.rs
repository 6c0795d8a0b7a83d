use reflect_types::MemoryOutcome;

use super::outcomes::pass_rate;
use crate::statistics::Rate;
use crate::store::MemoryTally;

/// The number of memories that a report considers: those that most runs were given.
pub(crate) const CONSIDERED: usize = 500;
/// The maximum number of memories in each list.
const LISTED: usize = 5;

/// The memories whose runs pass more often than those of all the others, and those whose runs pass less
/// often: their interval does not hold the rate of the others.
pub(crate) fn helpful_and_harmful(
    used: Vec<MemoryTally>,
) -> (Vec<MemoryOutcome>, Vec<MemoryOutcome>) {
    let sum = |of: fn(Rate) -> u64| used.iter().map(|memory| of(memory.runs)).sum::<u64>();
    let (passed, failed) = (sum(|runs| runs.passed), sum(|runs| runs.failed));
    let (mut helpful, mut harmful) = (Vec::new(), Vec::new());
    for memory in used {
        let others = Rate {
            passed: passed - memory.runs.passed,
            failed: failed - memory.runs.failed,
        };
        let (Some(usual), Some(interval)) = (others.share(), memory.runs.interval()) else {
            continue;
        };
        if interval.low > usual {
            helpful.push((interval.low - usual, memory));
        } else if interval.high < usual {
            harmful.push((usual - interval.high, memory));
        }
    }
    (furthest(helpful), furthest(harmful))
}

fn furthest(mut memories: Vec<(f64, MemoryTally)>) -> Vec<MemoryOutcome> {
    memories.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let listed = memories.into_iter().take(LISTED);
    let outcome = |(_, memory): (f64, MemoryTally)| MemoryOutcome {
        memory_id: memory.id,
        task: memory.task,
        runs: pass_rate(memory.runs),
    };
    listed.map(outcome).collect()
}
