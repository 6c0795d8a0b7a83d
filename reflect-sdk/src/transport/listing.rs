use reflect_types::{ListTraces, Trace};

/// A list on its way. A page may hold fewer runs than were asked for, where they are large; the list
/// does not.
pub(super) struct Listing {
    /// What is still to be asked for.
    pub(super) rest: ListTraces,
    found: Vec<Trace>,
}

impl Listing {
    pub(super) fn of(which: &ListTraces) -> Self {
        Self {
            rest: which.clone(),
            found: Vec::new(),
        }
    }

    /// Takes a page in, which may not be the last; tells whether another is needed.
    pub(super) fn add(&mut self, page: Vec<Trace>, is_last: bool) -> bool {
        let Some(last) = page.last() else {
            return false;
        };
        self.rest.before = Some(last.id.clone());
        let wanted = self.rest.limit.unwrap_or(ListTraces::DEFAULT_LIMIT);
        let got = u32::try_from(page.len()).unwrap_or(u32::MAX);
        self.rest.limit = Some(wanted.saturating_sub(got));
        self.found.extend(page);
        !is_last && self.rest.limit != Some(0)
    }

    pub(super) fn found(self) -> Vec<Trace> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(ids: &[&str]) -> Vec<Trace> {
        let trace = |id| json!({"id": id, "task": "t", "review_status": "pending"});
        let traces: Vec<_> = ids.iter().map(trace).collect();
        serde_json::from_value(json!(traces)).unwrap()
    }

    #[test]
    fn short_pages_are_put_together_up_to_the_limit() {
        let which = ListTraces {
            limit: Some(3),
            ..ListTraces::default()
        };
        let mut listing = Listing::of(&which);
        assert!(listing.add(page(&["c"]), false));
        assert_eq!(listing.rest.limit, Some(2));
        assert_eq!(listing.rest.before, Some("c".into()));
        assert!(!listing.add(page(&["b", "a"]), false), "it is full");
        assert_eq!(listing.found().len(), 3);
    }

    #[test]
    fn the_last_page_ends_the_list() {
        let mut listing = Listing::of(&ListTraces::default());
        assert!(listing.add(page(&["b"]), false));
        assert!(!listing.add(page(&["a"]), true));
        assert!(
            !listing.add(page(&[]), false),
            "a page of nothing leads nowhere"
        );
        assert_eq!(listing.found().len(), 2);
    }
}
