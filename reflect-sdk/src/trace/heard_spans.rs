//! The spans of a framework that a run has heard.

use std::collections::VecDeque;

use reflect_types::spans::Span;

/// The spans of a run that have closed. Of very many or very long ones, the oldest are dropped: calls of a model
/// repeat what was said before them.
#[derive(Debug, Default)]
pub(super) struct HeardSpans {
    spans: VecDeque<(usize, Span)>,
    bytes: usize,
}

impl HeardSpans {
    const MAX_SPANS: usize = 10_000;
    const MAX_BYTES: usize = 16 * 1024 * 1024;

    pub(super) fn add(&mut self, span: Span) {
        let bytes = size(&span);
        self.bytes += bytes;
        self.spans.push_back((bytes, span));
        while self.spans.len() > Self::MAX_SPANS || self.bytes > Self::MAX_BYTES {
            let Some((bytes, _)) = self.spans.pop_front() else {
                return;
            };
            self.bytes -= bytes;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(super) fn into_spans(self) -> impl Iterator<Item = Span> {
        self.spans.into_iter().map(|(_, span)| span)
    }
}

/// About the bytes of a span. Fields of `tracing` are texts and numbers.
fn size(span: &Span) -> usize {
    let field = |(name, value): (&String, &serde_json::Value)| {
        name.len() + value.as_str().map_or(0, str::len) + 64
    };
    span.attributes.iter().map(field).sum::<usize>() + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: String) -> Span {
        let mut span = Span::default();
        let name = "gen_ai.input.messages".to_owned();
        span.attributes.insert(name, text.into());
        span
    }

    #[test]
    fn the_newest_spans_are_kept_within_limits() {
        let mut heard = HeardSpans::default();
        let megabyte = "x".repeat(1024 * 1024);
        for n in 0..40 {
            heard.add(call(format!("{n}{megabyte}")));
        }
        assert!(heard.bytes <= HeardSpans::MAX_BYTES);
        let spans: Vec<Span> = heard.into_spans().collect();
        assert_eq!(spans.len(), 15);
        let last = spans[14].attributes["gen_ai.input.messages"].as_str();
        assert!(last.unwrap().starts_with("39x"));

        let mut heard = HeardSpans::default();
        for _ in 0..=HeardSpans::MAX_SPANS {
            heard.add(call(String::new()));
        }
        assert_eq!(heard.into_spans().count(), HeardSpans::MAX_SPANS);
    }
}
