use serde::{Deserialize, Serialize};

/// What happens in a run, for a log: `{"kind": "trial_start", "data": {"trial_number": 1}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A trial begins.
    TrialStart {
        /// From 1.
        trial_number: u32,
    },
    /// A failed trial has been reflected on.
    ReflectionGenerated {
        /// The trial that failed.
        trial_number: u32,
        /// What it teaches.
        reflection: String,
    },
    /// A trial has ended, whether another follows or not.
    TrialEnd {
        /// From 1.
        trial_number: u32,
        /// Whether the task is done.
        success: bool,
        /// What the evaluator said; left out of the JSON where empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        feedback: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    // Row 29.
    #[test]
    fn events_have_their_names_and_fields_in_json() {
        let reflection = "Look first.".to_owned();
        let cases: [(Event, Value); 4] = [
            (
                Event::TrialStart { trial_number: 1 },
                json!({"kind": "trial_start", "data": {"trial_number": 1}}),
            ),
            (
                Event::ReflectionGenerated {
                    trial_number: 1,
                    reflection,
                },
                json!({
                    "kind": "reflection_generated",
                    "data": {"trial_number": 1, "reflection": "Look first."}
                }),
            ),
            (
                Event::TrialEnd {
                    trial_number: 2,
                    success: false,
                    feedback: "no".to_owned(),
                },
                json!({
                    "kind": "trial_end",
                    "data": {"trial_number": 2, "success": false, "feedback": "no"}
                }),
            ),
            (
                Event::TrialEnd {
                    trial_number: 2,
                    success: true,
                    feedback: String::new(),
                },
                json!({"kind": "trial_end", "data": {"trial_number": 2, "success": true}}),
            ),
        ];
        for (event, json) in cases {
            assert_eq!(serde_json::to_value(&event).unwrap(), json);
            assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
        }
    }
}
