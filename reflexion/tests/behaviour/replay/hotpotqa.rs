use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use reflexion::{Attempt, Attempted, Evaluation, FailedTrial, Outcome, Reflexion, Trajectory};
use reflexion::{Message, ToolCall};

use super::{logs, solved_by_trial};
use crate::support::Log;

const TRIALS: usize = 5;
const PUBLISHED: [usize; TRIALS] = [32, 42, 48, 50, 51];
const AGAIN: &str = "You have attempted to answer";

/// A question in one trial of a log.
#[derive(Clone, Debug, Default)]
struct Entry {
    /// The reflections that the prompt held, as one text.
    reflections: String,
    /// Thought, action and its argument, observation.
    steps: Vec<[String; 4]>,
    gold: String,
}

/// Each question with its trials. The log itself leaves two questions out of a trial.
type Questions = BTreeMap<String, [Option<Entry>; TRIALS]>;

/// The questions, and the number of correct ones that the log states for each trial.
fn read(folder: &Path) -> (Questions, Vec<usize>) {
    let path = folder.join("hotpotqa/react_reflexion_100q_5trials.txt");
    let text = fs::read_to_string(path).unwrap();
    let (mut questions, mut correct) = (Questions::new(), Vec::new());
    for (index, trial) in text.split("\nBEGIN TRIAL ").skip(1).enumerate() {
        let (_, stated) = trial.split_once("Correct: ").unwrap();
        correct.push(stated.split(',').next().unwrap().parse().unwrap());
        for item in trial.split("\nQuestion: ").skip(1) {
            let (head, body) = item.split_once('\n').unwrap();
            let question = head.split(AGAIN).next().unwrap().trim();
            let trials = questions.entry(question.to_owned()).or_default();
            assert!(
                trials[index].replace(entry(body)).is_none(),
                "{question} occurs twice"
            );
        }
    }
    (questions, correct)
}

fn entry(body: &str) -> Entry {
    let (head, steps) = body.split_once("Thought 1:").unwrap();
    let reflections = head.strip_prefix("Reflections:\n- ").unwrap_or_default();
    let (steps, gold) = steps.split_once("\nCorrect answer: ").unwrap();
    let gold = gold.lines().next().unwrap().to_owned();
    let mut entry = Entry {
        reflections: reflections.trim_end_matches('\n').to_owned(),
        gold,
        ..Entry::default()
    };
    let mut rest = Some(steps);
    for number in 1.. {
        let Some(step) = rest else { break };
        let (step, next) = match step.split_once(&format!("\nThought {}:", number + 1)) {
            Some((step, next)) => (step, Some(next)),
            None => (step, None),
        };
        rest = next;
        let (step, seen) = step
            .split_once(&format!("\nObservation {number}: "))
            .unwrap_or((step, ""));
        let (thought, action) = step
            .split_once(&format!("\nAction {number}:"))
            .unwrap_or((step, ""));
        let (tool, argument) = action.trim().split_once('[').unwrap_or((action, ""));
        let argument = argument.strip_suffix(']').unwrap_or(argument);
        entry
            .steps
            .push([thought.trim(), tool.trim(), argument, seen].map(str::to_owned));
    }
    entry
}

/// The agent's steps as messages, and its answer, if any.
fn attempted(entry: &Entry) -> Attempted {
    let mut messages = Vec::new();
    for (number, [thought, tool, argument, seen]) in entry.steps.iter().enumerate() {
        if tool == "Finish" {
            messages.push(Message::assistant(argument));
            return Attempted::new(messages, argument);
        }
        let id = format!("step {}", number + 1);
        let call = ToolCall::new(&id, tool, serde_json::json!({"query": argument}));
        let mut message = Message::tool_calls([call]);
        message.content = Some(thought.as_str().into());
        messages.extend([message, Message::tool(id, seen).name(tool)]);
    }
    Attempted::halted("no answer").messages(messages)
}

/// The benchmark's evaluation: equal words, without articles and punctuation.
fn exact_match(trial: &Trajectory, gold: &str) -> Evaluation {
    fn normal(text: &str) -> Vec<String> {
        text.to_lowercase()
            .replace(|c: char| c.is_ascii_punctuation(), "")
            .split_whitespace()
            .filter(|word| !["a", "an", "the"].contains(word))
            .map(str::to_owned)
            .collect()
    }
    (normal(&trial.answer()) == normal(gold)).into()
}

/// The reflection that the log's next prompt adds; `None` if the log rewrote the old ones.
fn reflection_of(trials: &[Option<Entry>], index: usize) -> Option<String> {
    let held = trials[..=index].iter().flatten().last();
    let held = held.map_or("", |entry| entry.reflections.as_str());
    let Some(next) = trials.get(index + 1)?.as_ref() else {
        return Some(String::new());
    };
    if next.reflections == held {
        return Some(String::new());
    }
    let more = match held {
        "" => next.reflections.as_str(),
        held => next.reflections.strip_prefix(held)?.strip_prefix("\n- ")?,
    };
    Some(more.to_owned())
}

async fn replay(question: &str, trials: &[Option<Entry>; TRIALS]) -> (Outcome, Vec<Attempt>) {
    let (attempts, trials) = (Log::default(), Arc::new(trials.clone()));
    let (seen, actor, writer) = (attempts.clone(), Arc::clone(&trials), Arc::clone(&trials));
    let gold = trials.iter().flatten().next().unwrap().gold.clone();
    let reflexion = Reflexion::builder(move |attempt: Attempt| {
        let entry = actor[attempt.trial as usize - 1].as_ref();
        let attempted = entry.map_or_else(|| Attempted::halted("not in the log"), attempted);
        seen.add(attempt);
        async move { attempted }
    })
    .evaluate_with(move |trial| exact_match(trial, &gold))
    .reflect_with(move |failed: FailedTrial| {
        let index = failed.trajectory.trial as usize - 1;
        reflection_of(&*writer, index).unwrap_or_else(|| "rewritten in the log".to_owned())
    })
    .max_trials(u32::try_from(TRIALS).unwrap())
    .memory_size(TRIALS)
    .build()
    .unwrap();
    (reflexion.run(question).await.unwrap(), attempts.all())
}

#[tokio::test]
async fn the_published_curve_comes_out_of_the_answers_themselves() {
    for (folder, whole) in logs() {
        let (questions, stated) = read(&folder);
        let mut outcomes = Vec::new();
        let (mut compared, mut rewritten) = (0, 0);
        for (question, trials) in &questions {
            let (outcome, attempts) = replay(question, trials).await;
            // The log keeps solved questions, so the state up to the last trial counts.
            let last = attempts.len() - 1;
            if (0..last).any(|index| reflection_of(trials, index).is_none()) {
                rewritten += 1;
            } else {
                for (attempt, entry) in attempts.iter().zip(trials) {
                    let Some(entry) = entry else { continue };
                    let shown: Vec<&str> = attempt
                        .memory
                        .iter()
                        .map(|entry| entry.reflection.as_str())
                        .collect();
                    assert_eq!(shown.join("\n- "), entry.reflections, "{question}");
                    compared += 1;
                }
            }
            outcomes.push(outcome);
        }
        let curve = solved_by_trial(&outcomes, TRIALS);
        assert_eq!(curve, stated);
        if whole {
            assert_eq!(questions.len(), 100);
            assert_eq!(curve, PUBLISHED);
            assert_eq!(
                rewritten, 3,
                "questions whose old reflections the log rewrote"
            );
            println!("{compared} prompts hold exactly the reflections that the log says");
        }
        assert!(compared > questions.len());
    }
}
