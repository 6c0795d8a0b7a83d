//! The guide as Markdown with YAML front matter.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use serde_json::Value;

use super::advice::{Advice, merge, pitfall, strategy};
use super::source::SourceMemory;
use crate::model::prose::{clean, shorten};

/// The lines of a section; the rest is left out.
const MAX_LINES: usize = 20;

/// The advice of a skill, the most useful first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// Strategies that worked.
    pub strategies: Vec<String>,
    /// Pitfalls to avoid.
    pub pitfalls: Vec<String>,
}

impl Guide {
    /// The advice in these memories, extracted without a model. Nearly equal advice is merged; the order of the
    /// memories does not matter. Every pair of them may be compared: pass hundreds, not millions.
    pub fn extracted(memories: &[SourceMemory<'_>]) -> Self {
        let (strategies, pitfalls): (Vec<_>, Vec<_>) =
            memories.iter().partition(|memory| memory.success);
        let shown = |advice: Vec<Advice>| advice.iter().map(Advice::shown).collect();
        Self {
            strategies: shown(merge(&strategies, strategy)),
            pitfalls: shown(merge(&pitfalls, pitfall)),
        }
    }

    /// The whole guide: YAML front matter, strategies that worked, pitfalls to avoid, the tools of the memories.
    pub(crate) fn shown(
        &self,
        project: &str,
        version: u64,
        memories: &[SourceMemory<'_>],
    ) -> String {
        let passed = memories.iter().filter(|memory| memory.success).count();
        let failed = memories.len() - passed;
        let project = match shorten(&clean(project), 12) {
            project if project.is_empty() => "this project".to_owned(),
            project => project,
        };
        let description = format!(
            "What {passed} passed and {failed} failed runs of {project} taught. Read it before a \
             task of this project: strategies that worked, pitfalls to avoid, tools."
        );
        let mut guide = format!(
            "---\nname: {}\ndescription: {}\nversion: {version}\npassed: {passed}\nfailed: {failed}\n---\n\n\
             # Guide for {project}\n",
            yaml(&slug(&project)),
            yaml(&description),
        );
        section(&mut guide, "Strategies that worked", &self.strategies);
        section(&mut guide, "Pitfalls to avoid", &self.pitfalls);
        section(&mut guide, "Tools", &tool_lines(memories));
        guide
    }
}

fn tool_lines(memories: &[SourceMemory<'_>]) -> Vec<String> {
    let mut tools: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for memory in memories {
        let named: HashSet<String> = memory
            .tools
            .iter()
            .map(|tool| clean(tool).replace('`', ""))
            .collect();
        for tool in named.into_iter().filter(|tool| !tool.is_empty()) {
            let counts = tools.entry(tool).or_default();
            if memory.success {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
        }
    }
    let mut tools: Vec<(String, (usize, usize))> = tools.into_iter().collect();
    // Stable, so that tools with the same count stay sorted by name.
    tools.sort_by_key(|(_, (worked, failed))| std::cmp::Reverse(worked + failed));
    let lines = tools.into_iter().map(|(tool, (worked, failed))| {
        format!("`{}`: {worked} worked, {failed} failed", shorten(&tool, 8))
    });
    lines.collect()
}

fn section(guide: &mut String, title: &str, lines: &[String]) {
    let all = lines.len();
    // Writing to a string cannot fail.
    let _ = write!(guide, "\n## {title}\n\n");
    if all == 0 {
        guide.push_str("None yet.\n");
    }
    for line in lines.iter().take(MAX_LINES) {
        let _ = writeln!(guide, "- {line}");
    }
    if all > MAX_LINES {
        let _ = writeln!(guide, "- and {} more", all - MAX_LINES);
    }
}

/// The name of the guide: lower-case letters, digits and hyphens.
fn slug(project: &str) -> String {
    let lower = project.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let slug = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    let slug: String = slug.chars().take(64).collect();
    match slug.trim_end_matches('-') {
        "" => "project-guide".to_owned(),
        slug => slug.to_owned(),
    }
}

/// The text as a YAML string: every JSON string is one.
fn yaml(text: &str) -> String {
    Value::from(text).to_string()
}
