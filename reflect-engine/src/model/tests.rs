//! The rules for reflections, on real runs of a customer service agent.

use std::collections::{HashMap, HashSet};

use reflect_types::{Message, Reflection, Verdict};
use serde::Deserialize;
use serde_json::Value;

use super::extractive::Extractive;
use super::finish::finish;
use super::personal::PersonalValues;
use super::port::JudgedRun;
use super::prose::{count_words, sentences};

#[derive(Deserialize)]
struct RealRun {
    reward: f64,
    user_id: String,
    task: String,
    messages: Vec<Message>,
}

fn real_runs() -> Vec<RealRun> {
    let runs = include_str!("../../tests/fixtures/tau-bench/airline-runs.json");
    serde_json::from_str(runs).unwrap()
}

impl RealRun {
    fn memory(&self, feedback: Option<&str>, keep_personal: bool) -> Reflection {
        let run = JudgedRun {
            task: &self.task,
            messages: &self.messages,
            final_response: &Message::final_response(&self.messages),
            verdict: if self.reward > 0.5 {
                Verdict::Pass
            } else {
                Verdict::Fail
            },
            feedback,
            reference_context: None,
        };
        let reflection = finish(Extractive.write(&run), &run);
        if keep_personal {
            return reflection;
        }
        PersonalValues::of(&run, &reflection).replace(reflection)
    }

    /// The customer's, payment and reservation ids, read in the data's own way.
    fn ids(&self) -> HashSet<String> {
        let mut ids = HashSet::from([self.user_id.clone()]);
        let calls = self.messages.iter().flat_map(Message::calls);
        let mut texts: Vec<String> = calls.map(|call| call.arguments_text().into()).collect();
        texts.extend(self.messages.iter().map(|message| message.text().into()));
        for json in texts
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok())
        {
            collect_ids(&json, &mut ids);
        }
        ids
    }
}

fn collect_ids(json: &Value, ids: &mut HashSet<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("user_id" | "payment_id" | "reservation_id", Value::String(id)) => {
                        ids.insert(id.clone());
                    }
                    ("reservations", Value::Array(list)) => {
                        ids.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    ("payment_methods", Value::Object(methods)) => {
                        ids.extend(methods.keys().cloned());
                    }
                    _ => collect_ids(value, ids),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn no_sentence_recurs_in_memories_of_different_tasks() {
    let runs = real_runs();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for run in &runs {
        let text = run.memory(None, false).text();
        let mut distinct: HashSet<&str> = text.lines().flat_map(sentences).collect();
        distinct.retain(|sentence| sentence.contains(char::is_alphabetic));
        for sentence in distinct {
            *counts.entry(sentence.to_owned()).or_default() += 1;
        }
    }
    for (sentence, count) in counts {
        assert!(count * 20 <= runs.len(), "{count}x {sentence}");
    }
}

#[test]
fn a_review_is_whole_and_first_in_the_memory() {
    let review = "The cabin was changed before the customer agreed. The policy asks for a \
        confirmation first. A certificate cannot pay for a change. The refund goes to the card. Say \
        so before the first call.";
    for run in real_runs() {
        let memory = run.memory(Some(review), false);
        assert_eq!(memory.feedback, review);
        let lesson = format!("Reviewer: {review}\n");
        assert!(memory.text().starts_with(&lesson), "{}", memory.text());
    }
}

#[test]
fn no_customer_payment_or_reservation_id_is_in_the_memory() {
    let (mut found, mut kept) = (0, 0);
    for run in real_runs() {
        let ids = run.ids();
        let review = format!("Look at {} again.", ids.iter().next().unwrap());
        let text = run.memory(Some(&review), false).text();
        for id in &ids {
            assert!(!text.contains(id.as_str()), "{id}: {text}");
        }
        found += ids.len();
        let text = run.memory(Some(&review), true).text();
        kept += usize::from(ids.iter().any(|id| text.contains(id.as_str())));
    }
    assert!(found > 200, "{found}");
    assert_eq!(kept, 50);
}

#[test]
fn the_right_answer_in_a_review_is_not_a_mistake() {
    for run in real_runs() {
        let memory = run.memory(Some("The topic is declined_card_payment."), false);
        assert_eq!(memory.feedback, "The topic is declined_card_payment.");
        assert_eq!(memory.key_mistake, "");
        assert!(!memory.summary.contains("topic"), "{}", memory.summary);
    }
}

#[test]
fn a_memory_says_what_was_done_in_few_words() {
    for run in real_runs() {
        let memory = run.memory(None, false);
        let text = memory.text();
        let words = count_words(&text);
        assert!((5..=120).contains(&words), "{words}: {text}");
        let mut calls = run.messages.iter().flat_map(Message::calls);
        let named = calls.any(|call| text.contains(&call.function.name));
        assert!(named || memory.tools_used.is_empty(), "{text}");
        if let Some(error) = last_error(&run.messages) {
            assert!(text.contains("refused"), "{error}: {text}");
        }
        println!("{text}\n");
    }
}

fn last_error(messages: &[Message]) -> Option<String> {
    let answers = messages
        .iter()
        .rev()
        .filter(|message| message.tool_call_id.is_some());
    let mut texts = answers.map(|message| message.text());
    texts.find_map(|text| text.strip_prefix("Error: ").map(str::to_owned))
}
