//! Lists that span pages. A page is short where its items are large; a list is as long as it was
//! asked for.

use reflect_types::{ListMemories, ListMemoryChanges, ListTraces, ListUndos, Page, Reply, Request};

/// The request for the next page, if the list is not complete.
pub(super) fn continuation(request: &Request, reply: &Reply) -> Option<Request> {
    Some(match (request, reply) {
        (Request::ListTraces(list), Reply::ListTraces(page)) => {
            let limit = missing(list.limit.unwrap_or(ListTraces::DEFAULT_LIMIT), page);
            let mut rest = list.clone().continued(page.last()?.id.clone());
            rest.limit = Some(limit?);
            rest.into()
        }
        (Request::ListMemories(list), Reply::ListMemories(page)) => {
            let limit = missing(list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT), page);
            let mut rest = list.clone();
            (rest.limit, rest.before) = (Some(limit?), Some(page.last()?.memory.id.clone()));
            rest.into()
        }
        (Request::ListMemoryChanges(list), Reply::ListMemoryChanges(page)) => {
            let limit = missing(list.limit.unwrap_or(ListMemoryChanges::DEFAULT_LIMIT), page);
            let (limit, before) = (Some(limit?), Some(page.last()?.id.clone()));
            ListMemoryChanges { limit, before }.into()
        }
        (Request::ListUndos(list), Reply::ListUndos(page)) => {
            let limit = missing(list.limit.unwrap_or(ListUndos::DEFAULT_LIMIT), page);
            let (limit, before) = (Some(limit?), Some(page.last()?.id.clone()));
            ListUndos { limit, before }.into()
        }
        _ => return None,
    })
}

/// The number of items that the page lacks; `None` where it is complete, or the last one.
fn missing<T>(limit: u32, page: &Page<T>) -> Option<u32> {
    let length = u32::try_from(page.len()).ok()?;
    (page.more && length < limit).then(|| limit - length)
}

/// Adds the next page to a list.
pub(super) fn append(reply: &mut Reply, next: Reply) {
    match (reply, next) {
        (Reply::ListTraces(list), Reply::ListTraces(page)) => extend(list, page),
        (Reply::ListMemories(list), Reply::ListMemories(page)) => extend(list, page),
        (Reply::ListMemoryChanges(list), Reply::ListMemoryChanges(page)) => extend(list, page),
        (Reply::ListUndos(list), Reply::ListUndos(page)) => extend(list, page),
        // A reply to another request, which the caller refuses.
        (reply, other) => *reply = other,
    }
}

fn extend<T>(list: &mut Page<T>, page: Page<T>) {
    // An empty page leads nowhere, whatever it says.
    list.more = page.more && !page.items.is_empty();
    list.items.extend(page.items);
}

#[cfg(test)]
mod tests {
    use reflect_types::ListOrder;
    use serde_json::json;

    use super::*;

    fn page(ids: &[&str], more: bool) -> Reply {
        let trace = |id| json!({"id": id, "task": "t", "review_status": "pending"});
        let traces: Vec<_> = ids.iter().map(trace).collect();
        let items = serde_json::from_value(json!(traces)).unwrap();
        Reply::ListTraces(Page { items, more })
    }

    fn list(limit: Option<u32>) -> Request {
        let list = ListTraces {
            limit,
            ..ListTraces::default()
        };
        list.into()
    }

    fn length(reply: &Reply) -> usize {
        match reply {
            Reply::ListTraces(page) => page.len(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn short_pages_are_put_together_up_to_the_limit() {
        let (request, mut reply) = (list(Some(3)), page(&["c"], true));
        let rest = continuation(&request, &reply);
        let Some(Request::ListTraces(rest)) = rest else {
            panic!("{rest:?}");
        };
        assert_eq!((rest.limit, rest.before), (Some(2), Some("c".into())));
        append(&mut reply, page(&["b", "a"], true));
        assert!(continuation(&request, &reply).is_none(), "it is full");
        assert_eq!(length(&reply), 3);
    }

    #[test]
    fn a_list_keeps_its_order() {
        let list = ListTraces {
            order: Some(ListOrder::Oldest),
            ..ListTraces::default()
        };
        let rest = continuation(&list.into(), &page(&["a"], true));
        let Some(Request::ListTraces(rest)) = rest else {
            panic!("{rest:?}");
        };
        assert_eq!((rest.before, rest.after), (None, Some("a".into())));
    }

    #[test]
    fn the_last_page_ends_the_list() {
        let (request, mut reply) = (list(None), page(&["b"], true));
        assert!(continuation(&request, &reply).is_some());
        append(&mut reply, page(&["a"], false));
        assert!(continuation(&request, &reply).is_none());
        assert_eq!(length(&reply), 2);
    }

    #[test]
    fn an_empty_page_ends_the_list() {
        let (request, mut reply) = (list(None), page(&["b"], true));
        append(&mut reply, page(&[], true));
        assert!(continuation(&request, &reply).is_none());
    }
}
