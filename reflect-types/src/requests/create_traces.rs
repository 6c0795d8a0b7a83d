use serde::{Deserialize, Serialize};

use super::create_trace::CreateTrace;
use crate::layout::Layout;
use crate::validate::{InvalidField, Validate};

/// Stores runs that travel together: each is stored, or refused, by itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTraces {
    /// The runs, each with its own idempotency key.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 64))]
    pub traces: Vec<CreateTrace>,
}

impl CreateTraces {
    /// The maximum number of runs in one request.
    pub const MAX_TRACES: usize = 64;

    /// Checks the number of runs in a request.
    pub fn check_count(count: usize) -> Result<(), InvalidField> {
        const MAX: usize = CreateTraces::MAX_TRACES;

        if (1..=MAX).contains(&count) {
            return Ok(());
        }
        let problem = format!("must have 1 to {MAX} runs, got {count}: send them in parts");
        Err(InvalidField::new("traces", problem))
    }
}

/// Of the whole: a run that is out of range is refused by itself.
impl Validate for CreateTraces {
    fn validate(&self) -> Result<(), InvalidField> {
        Self::check_count(self.traces.len())
    }
}

impl Layout for CreateTraces {
    fn is_repeatable(&self) -> bool {
        self.traces.iter().all(Layout::is_repeatable)
    }

    fn body(&self) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Body<'a> {
            traces: Vec<Keyed<'a>>,
        }

        /// No header carries the keys of several runs.
        #[derive(Serialize)]
        struct Keyed<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            idempotency_key: Option<&'a str>,
            #[serde(flatten)]
            trace: &'a CreateTrace,
        }

        let keyed = self.traces.iter().map(|trace| Keyed {
            idempotency_key: trace.idempotency_key.as_deref(),
            trace,
        });
        serde_json::to_vec(&Body {
            traces: keyed.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn runs_are_read_as_they_were_sent_with_their_keys() {
        let run = |key: Option<&str>| CreateTrace {
            idempotency_key: key.map(str::to_owned),
            ..CreateTrace::new("Refund order 7", vec![Message::assistant("Done.")])
        };
        let sent = CreateTraces {
            traces: vec![run(Some("a")), run(None)],
        };
        assert!(!sent.is_repeatable());
        let read: CreateTraces = serde_json::from_slice(&sent.body().unwrap()).unwrap();
        assert_eq!(read, sent);
    }

    #[test]
    fn a_request_has_a_run_and_not_too_many() {
        for (count, fits) in [(0, false), (1, true), (64, true), (65, false)] {
            let traces = vec![CreateTrace::new("", ""); count];
            let checked = CreateTraces { traces }.validate();
            assert_eq!(checked.is_ok(), fits, "{count}");
        }
    }
}
