//! The notes about models that older versions kept in the feedback of reviews. They are read from
//! old files and old archives only.

use reflect_types::{ModelVerdict, Reviewer, Verdict};

/// A review's feedback without its note, and what the note says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotedFeedback<'a> {
    pub(super) reviewer: Reviewer,
    pub(super) overruled: Option<ModelVerdict>,
    pub(super) comment: Option<&'a str>,
}

/// Reads `[judge x] …`, a model's review, and `[judge x said fail] …`, a person's after a model's.
pub(super) fn feedback(text: &str) -> Option<NotedFeedback<'_>> {
    let (model, verdict, rest) = read(text)?;
    let comment = Some(rest).filter(|rest| !rest.is_empty());
    Some(match verdict {
        None => NotedFeedback {
            reviewer: Reviewer::Model(model),
            overruled: None,
            comment,
        },
        Some(result) => NotedFeedback {
            reviewer: Reviewer::Human,
            overruled: Some(ModelVerdict { model, result }),
            comment,
        },
    })
}

/// Reads `[judge x said fail]`, the note on a trace whose review by a model was withdrawn.
pub(super) fn withdrawn(note: &str) -> Option<ModelVerdict> {
    let (model, result, _) = read(note)?;
    let result = result?;
    Some(ModelVerdict { model, result })
}

fn read(text: &str) -> Option<(String, Option<Verdict>, &str)> {
    let (note, rest) = text.strip_prefix("[judge ")?.split_once(']')?;
    let (model, verdict) = match note.split_once(" said ") {
        Some((model, verdict)) => (model, Some(verdict.parse().ok()?)),
        None => (note, None),
    };
    let fit = |c: char| !(c.is_whitespace() || c.is_control() || c == '[');
    let is_name = !model.is_empty() && model.chars().all(fit);
    is_name.then(|| (model.to_owned(), verdict, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: Verdict) -> ModelVerdict {
        ModelVerdict {
            model: "m".to_owned(),
            result,
        }
    }

    #[test]
    fn notes_are_read() {
        let model = |comment| NotedFeedback {
            reviewer: Reviewer::Model("m".to_owned()),
            overruled: None,
            comment,
        };
        assert_eq!(feedback("[judge m] no"), Some(model(Some("no"))));
        assert_eq!(feedback("[judge m]"), Some(model(None)));
        let person = NotedFeedback {
            reviewer: Reviewer::Human,
            overruled: Some(said(Verdict::Fail)),
            comment: Some("fine"),
        };
        assert_eq!(feedback("[judge m said fail] fine"), Some(person));
        assert_eq!(withdrawn("[judge m said pass]"), Some(said(Verdict::Pass)));
        assert_eq!(withdrawn("[judge m]"), None);
    }

    #[test]
    fn other_texts_are_not_notes() {
        for text in [
            "",
            "ok",
            "[judge",
            "[judge ]",
            "[judge x y] z",
            "[judge a said maybe]",
            "so [judge m] said",
        ] {
            assert_eq!(feedback(text), None, "{text}");
        }
    }
}
