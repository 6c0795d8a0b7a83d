//! Which spans belong to one run.

use std::collections::HashMap;

use super::Span;
use super::attributes::text;
use super::kind::Kind;

/// The spans of one run.
pub(super) struct Group {
    /// The id of the span that the others are below, or of the oldest if that one never arrived.
    pub(super) id: String,
    /// The id of the group that this one is within.
    pub(super) parent: Option<String>,
    /// The place of that span.
    pub(super) top: Option<usize>,
    /// The places of all spans, oldest first.
    pub(super) members: Vec<usize>,
}

/// Whose run a span belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner<'a> {
    /// This agent's.
    Agent(usize),
    /// That of all spans below this one, which is no agent.
    Root(usize),
    /// That of all spans below one that has not arrived.
    Missing(&'a str),
}

/// Divides the spans of a trace into runs, oldest first.
pub(super) fn groups(spans: &[Span], kinds: &[Kind]) -> Vec<Group> {
    let parents = parents(spans);
    let mut owners: Vec<Option<Owner<'_>>> = vec![None; spans.len()];
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Owner<'_>, usize> = HashMap::new();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&at| age(&spans[at]));
    for &at in &order {
        let owner = owner(at, spans, kinds, &parents, &mut owners);
        let place = *places.entry(owner).or_insert_with(|| {
            let (id, top) = match owner {
                Owner::Agent(top) | Owner::Root(top) => (spans[top].span_id.clone(), Some(top)),
                Owner::Missing(_) => (spans[at].span_id.clone(), None),
            };
            groups.push(Group {
                id,
                parent: None,
                top,
                members: Vec::new(),
            });
            groups.len() - 1
        });
        groups[place].members.push(at);
    }
    for place in 0..groups.len() {
        let above = groups[place].top.and_then(|top| parents[top]);
        let above = above.and_then(|above| places.get(&owners[above]?));
        groups[place].parent = above.map(|&above| groups[above].id.clone());
    }
    groups
}

/// Whether a span is a run wherever it is.
fn is_run(span: &Span) -> bool {
    text(&span.attributes, "reflect.task").is_some() || is_recorded(span)
}

/// Whether an SDK of Reflect records the run of a span itself.
pub(super) fn is_recorded(span: &Span) -> bool {
    text(&span.attributes, "reflect.run_id").is_some()
}

fn age(span: &Span) -> (u64, &str) {
    (span.start, &span.span_id)
}

/// The owner of a span, from the top of its branch down.
fn owner<'a>(
    at: usize,
    spans: &'a [Span],
    kinds: &[Kind],
    parents: &[Option<usize>],
    owners: &mut [Option<Owner<'a>>],
) -> Owner<'a> {
    let mut branch = Vec::new();
    let mut place = Some(at);
    let mut above = None;
    while let Some(at) = place {
        if owners[at].is_some() {
            above = owners[at];
            break;
        }
        branch.push(at);
        place = parents[at];
    }
    for &at in branch.iter().rev() {
        let span = &spans[at];
        let is_agent = matches!(kinds[at], Kind::Agent | Kind::Chain);
        let own = match above {
            _ if is_run(span) => Owner::Agent(at),
            Some(Owner::Agent(outer)) => Owner::Agent(outer),
            _ if is_agent => Owner::Agent(at),
            Some(outer) => outer,
            None => match &span.parent_span_id {
                // Calls side by side, whose caller is not known.
                Some(missing) if matches!(kinds[at], Kind::Model | Kind::Tool) => {
                    Owner::Missing(missing)
                }
                _ => Owner::Root(at),
            },
        };
        owners[at] = Some(own);
        above = Some(own);
    }
    above.unwrap_or(Owner::Root(at))
}

/// The place of each span's parent. A circle is cut at its oldest span.
fn parents(spans: &[Span]) -> Vec<Option<usize>> {
    let mut places = HashMap::with_capacity(spans.len());
    for (at, span) in spans.iter().enumerate() {
        places.entry(span.span_id.as_str()).or_insert(at);
    }
    let mut parents: Vec<Option<usize>> = spans
        .iter()
        .map(|span| places.get(span.parent_span_id.as_deref()?).copied())
        .collect();
    // The walk that has passed a span, from 1.
    let mut passed = vec![0; spans.len()];
    for start in 0..spans.len() {
        let walk = start + 1;
        let mut place = Some(start);
        while let Some(at) = place {
            if passed[at] == walk {
                let cut = oldest_of_circle(at, spans, &parents);
                parents[cut] = None;
                break;
            }
            if passed[at] != 0 {
                break;
            }
            passed[at] = walk;
            place = parents[at];
        }
    }
    parents
}

fn oldest_of_circle(start: usize, spans: &[Span], parents: &[Option<usize>]) -> usize {
    let mut oldest = start;
    let mut place = parents[start];
    while let Some(at) = place.filter(|at| *at != start) {
        if age(&spans[at]) < age(&spans[oldest]) {
            oldest = at;
        }
        place = parents[at];
    }
    oldest
}
