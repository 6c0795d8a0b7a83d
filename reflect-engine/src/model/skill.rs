//! Condenses a project's memories into one guide, without a model.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use serde_json::Value;

use super::hashed::is_common;
use super::prose::{clean, clip, condense, sentence};

/// One memory as the guide's writer reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lesson<'a> {
    /// The task of the run it was learned from.
    pub task: &'a str,
    /// Whether that run passed; `None` where that is unknown.
    pub success: Option<bool>,
    /// Its proven utility, from 0 to 1.
    pub q_value: f64,
    /// What was learned as one text, for memories without the fields below.
    pub reflection: &'a str,
    /// What went wrong.
    pub key_mistake: &'a str,
    /// What would have been, or was, right.
    pub correct_action: &'a str,
    /// What to do next time.
    pub guidance: &'a str,
    /// The tools that the advice is about or that the run used.
    pub tools: &'a [String],
}

/// Writes the guide: YAML front matter, strategies that worked, pitfalls to avoid, tools.
///
/// Advice that is nearly the same is merged, the most useful stands first, and the same lessons, in
/// whichever order, give the same guide. Each pair of lessons may be compared: pass hundreds, not
/// millions.
///
/// ```
/// use reflect_engine::model::{Lesson, write_skill};
///
/// let lesson = Lesson {
///     task: "Refund order 7",
///     success: Some(true),
///     q_value: 0.8,
///     guidance: "Check the receipt, then refund.",
///     ..Lesson::default()
/// };
/// let guide = write_skill("Shop support", 2, &[lesson]);
/// assert!(guide.starts_with("---\nname: \"shop-support\"\n"));
/// assert!(guide.contains("- **Refund order 7:** Check the receipt, then refund. (utility 0.80)"));
/// ```
pub fn write_skill(project: &str, version: u64, lessons: &[Lesson<'_>]) -> String {
    Guide::extracted(lessons).shown(project, version, lessons)
}

/// What a guide advises, the most useful first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// What to do.
    pub strategies: Vec<String>,
    /// What to avoid.
    pub pitfalls: Vec<String>,
}

impl Guide {
    /// The advice that the lessons hold, without a model.
    pub fn extracted(lessons: &[Lesson<'_>]) -> Self {
        let (strategies, pitfalls): (Vec<_>, Vec<_>) =
            lessons.iter().partition(|lesson| worked(lesson));
        let shown = |advice: Vec<Advice>| advice.iter().map(Advice::shown).collect();
        Self {
            strategies: shown(merge(&strategies, strategy)),
            pitfalls: shown(merge(&pitfalls, pitfall)),
        }
    }

    /// The whole guide, with its front matter and the tools of the lessons.
    pub(crate) fn shown(&self, project: &str, version: u64, lessons: &[Lesson<'_>]) -> String {
        let count = |success| {
            lessons
                .iter()
                .filter(|lesson| lesson.success == Some(success))
                .count()
        };
        let (passed, failed) = (count(true), count(false));
        let project = match clip(&clean(project), 12) {
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
        section(&mut guide, "Tools", &tool_lines(lessons));
        guide
    }
}

/// Advice beyond these many lines is left out of a section: a guide that nobody reads helps nobody.
const MAX_LINES: usize = 20;
/// Two lines that share this part of their words are one.
const SAME_LINE: f64 = 0.6;
/// Two lines whose guidance shares this part of its words are one, whatever the runs said besides.
const SAME_GUIDANCE: f64 = 0.9;

/// A line of the guide.
struct Advice {
    topic: String,
    text: String,
    words: HashSet<String>,
    guidance: HashSet<String>,
    q_value: f64,
    runs: usize,
}

impl Advice {
    fn is_like(&self, other: &Self) -> bool {
        // Guidance of a few words may be the same by chance.
        const TELLING: usize = 4;
        let telling = self.guidance.len().min(other.guidance.len()) >= TELLING;
        shared(&self.words, &other.words) >= SAME_LINE
            || (telling && shared(&self.guidance, &other.guidance) >= SAME_GUIDANCE)
    }

    fn shown(&self) -> String {
        let runs = match self.runs {
            1 => String::new(),
            runs => format!(", {runs} runs"),
        };
        let Self {
            topic,
            text,
            q_value,
            ..
        } = self;
        format!("**{topic}:** {text} (utility {q_value:.2}{runs})")
    }
}

pub(super) fn worked(lesson: &Lesson<'_>) -> bool {
    lesson
        .success
        .unwrap_or_else(|| lesson.key_mistake.trim().is_empty())
}

fn strategy(lesson: &Lesson<'_>) -> String {
    join(&[("", lesson.correct_action, 30), ("", lesson.guidance, 30)])
}

fn pitfall(lesson: &Lesson<'_>) -> String {
    join(&[
        ("", lesson.key_mistake, 34),
        ("Instead: ", lesson.correct_action, 24),
        ("Next time: ", lesson.guidance, 28),
    ])
}

fn join(parts: &[(&str, &str, usize)]) -> String {
    let parts = parts.iter().filter_map(|(label, text, words)| {
        let text = clip(&clean(text), *words);
        (!text.is_empty()).then(|| format!("{label}{}", sentence(&text)))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// One line for each piece of advice, the most useful first; nearly equal ones count for the best.
fn merge(lessons: &[&Lesson<'_>], write: fn(&Lesson<'_>) -> String) -> Vec<Advice> {
    let mut all: Vec<Advice> = lessons
        .iter()
        .filter_map(|lesson| {
            let text = match write(lesson) {
                empty if empty.is_empty() => join(&[("", lesson.reflection, 60)]),
                text => text,
            };
            let topic = condense(&clean(lesson.task), 16);
            (!text.is_empty()).then(|| Advice {
                words: words(&text),
                guidance: words(&clean(lesson.guidance)),
                topic: topic.trim_end_matches(['.', ':', ' ']).to_owned(),
                text,
                q_value: utility(lesson.q_value),
                runs: 1,
            })
        })
        .collect();
    all.sort_by(|a, b| {
        let key = |advice: &Advice| (advice.text.clone(), advice.topic.clone());
        b.q_value
            .total_cmp(&a.q_value)
            .then_with(|| key(a).cmp(&key(b)))
    });
    let mut merged: Vec<Advice> = Vec::new();
    for advice in all {
        match merged.iter_mut().find(|known| known.is_like(&advice)) {
            Some(known) => known.runs += 1,
            None => merged.push(advice),
        }
    }
    merged
}

fn words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words = words.filter(|word| !word.is_empty() && !is_common(word));
    words.map(str::to_owned).collect()
}

/// Which part of all their words two texts share.
#[expect(
    clippy::cast_precision_loss,
    reason = "a line has a hundred words at most"
)]
fn shared(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let both = a.intersection(b).count();
    match a.len() + b.len() - both {
        0 => 1.0,
        all => both as f64 / all as f64,
    }
}

/// A utility that can be compared and shown, whatever was stored.
fn utility(q_value: f64) -> f64 {
    if q_value > 0.0 { q_value.min(1.0) } else { 0.0 }
}

fn tool_lines(lessons: &[Lesson<'_>]) -> Vec<String> {
    let mut tools: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for lesson in lessons {
        let named: HashSet<String> = lesson
            .tools
            .iter()
            .map(|tool| clean(tool).replace('`', ""))
            .collect();
        for tool in named.into_iter().filter(|tool| !tool.is_empty()) {
            let counts = tools.entry(tool).or_default();
            if worked(lesson) {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
        }
    }
    let mut tools: Vec<(String, (usize, usize))> = tools.into_iter().collect();
    // Stable: tools with the same count stay in the order of their names.
    tools.sort_by_key(|(_, (worked, failed))| std::cmp::Reverse(worked + failed));
    let lines = tools.into_iter().map(|(tool, (worked, failed))| {
        format!("`{}`: {worked} worked, {failed} failed", clip(&tool, 8))
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

/// A name as guides have it: lower case letters, digits and hyphens.
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

/// A text as YAML reads it, whatever it contains: every JSON string is one.
fn yaml(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed<'a>(task: &'a str, q_value: f64, guidance: &'a str) -> Lesson<'a> {
        Lesson {
            task,
            success: Some(true),
            q_value,
            guidance,
            ..Lesson::default()
        }
    }

    #[test]
    fn a_guide_has_front_matter_and_sections_with_the_most_useful_first() {
        let tools = ["pay".to_owned(), "get_cart".to_owned()];
        let lessons = [
            passed("Pay order 1.", 0.55, "Look at the cart, then pay."),
            Lesson {
                tools: &tools,
                ..passed("Refund it", 0.9, "Ask for the receipt.")
            },
            Lesson {
                task: "Pay: all",
                success: Some(false),
                q_value: 0.5,
                key_mistake: "pay failed: \"the total is 7\"",
                correct_action: "Sum up first",
                guidance: "Compare the totals.\n## Not a heading",
                tools: &tools[..1],
                ..Lesson::default()
            },
        ];
        assert_eq!(
            write_skill("Shop: \"EU\"", 3, &lessons),
            "---\n\
             name: \"shop-eu\"\n\
             description: \"What 2 passed and 1 failed runs of Shop: \\\"EU\\\" taught. Read it before a \
             task of this project: strategies that worked, pitfalls to avoid, tools.\"\n\
             version: 3\n\
             passed: 2\n\
             failed: 1\n\
             ---\n\n\
             # Guide for Shop: \"EU\"\n\n\
             ## Strategies that worked\n\n\
             - **Refund it:** Ask for the receipt. (utility 0.90)\n\
             - **Pay order 1:** Look at the cart, then pay. (utility 0.55)\n\n\
             ## Pitfalls to avoid\n\n\
             - **Pay: all:** pay failed: \"the total is 7\". Instead: Sum up first. Next time: Compare the \
             totals. Not a heading. (utility 0.50)\n\n\
             ## Tools\n\n\
             - `pay`: 1 worked, 1 failed\n\
             - `get_cart`: 1 worked, 0 failed\n"
        );
    }

    #[test]
    fn advice_that_is_nearly_the_same_is_merged() {
        let guide = write_skill(
            "p",
            1,
            &[
                passed("a", 0.6, "Check the receipt before the refund is made."),
                passed("b", 0.8, "Check the receipt before a refund is made!"),
                passed("c", 0.7, "Never ship abroad."),
            ],
        );
        assert!(
            guide.contains(
                "- **b:** Check the receipt before a refund is made! (utility 0.80, 2 runs)"
            ),
            "{guide}"
        );
        let same = "Look up with the tools what is missing.";
        let other = |key_mistake| Lesson {
            success: Some(false),
            key_mistake,
            ..passed("t", 0.5, same)
        };
        let guide_of_fails = write_skill(
            "p",
            1,
            &[
                other("It said: \"no idea at all\""),
                other("It gave up after asking thrice"),
            ],
        );
        assert_eq!(guide_of_fails.matches(same).count(), 1, "{guide_of_fails}");
        assert_eq!(guide.matches("receipt").count(), 1);
        assert_eq!(guide.matches("ship").count(), 1);
    }

    #[test]
    fn a_memory_without_fields_gives_its_text() {
        let lesson = Lesson {
            task: "t",
            reflection: "Use the other form.",
            ..Lesson::default()
        };
        let guide = write_skill("", 1, &[lesson]);
        assert!(guide.contains("# Guide for this project"));
        assert!(
            guide.contains("- **t:** Use the other form. (utility 0.00)"),
            "{guide}"
        );
        assert!(guide.contains("## Pitfalls to avoid\n\nNone yet.\n"));
    }

    #[test]
    fn a_long_section_says_how_much_it_leaves_out() {
        let advice: Vec<String> = (0..25).map(|i| format!("advice{i} number{i}")).collect();
        let lessons: Vec<_> = advice
            .iter()
            .map(|advice| passed("t", 0.5, advice))
            .collect();
        assert!(write_skill("p", 1, &lessons).contains("- and 5 more\n"));
    }

    proptest! {
        #[test]
        fn any_memories_give_a_guide_that_keeps_its_form(
            project in any::<String>(),
            version in any::<u64>(),
            texts in prop::collection::vec((any::<String>(), any::<String>(), any::<Option<bool>>(), any::<f64>()), 0..8),
        ) {
            let mut lessons: Vec<Lesson<'_>> = texts
                .iter()
                .map(|(a, b, success, q_value)| Lesson {
                    task: a,
                    success: *success,
                    q_value: *q_value,
                    key_mistake: b,
                    guidance: a,
                    tools: std::slice::from_ref(b),
                    ..Lesson::default()
                })
                .collect();
            let guide = write_skill(&project, version, &lessons);
            let lines: Vec<&str> = guide.lines().collect();
            prop_assert_eq!(lines.iter().filter(|line| **line == "---").count(), 2);
            prop_assert_eq!(lines.iter().filter(|line| line.starts_with('#')).count(), 4);
            let name = lines[1].strip_prefix("name: ").unwrap();
            prop_assert!(serde_json::from_str::<String>(name).is_ok());
            let description = lines[2].strip_prefix("description: ").unwrap();
            prop_assert!(serde_json::from_str::<String>(description).is_ok());
            lessons.reverse();
            prop_assert_eq!(&guide, &write_skill(&project, version, &lessons));
        }
    }
}
