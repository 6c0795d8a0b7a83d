//! Where each endpoint lives. Ids are percent-encoded with nothing but `-_.~` kept, so a `/` in a
//! project's name stays inside its segment.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::id::{KeyId, MemoryId, ProjectId, TraceId};
use crate::trace::{IngestStatus, ListTraces, ReviewStatus};

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// `GET`: whether the server is up; needs no key.
pub const HEALTH: &str = "/health";
/// `POST`: the first key of a project, for the holder of the bootstrap token.
pub const BOOTSTRAP: &str = "/v1/bootstrap";

/// `DELETE`: the project with all it holds.
pub fn project(project: &ProjectId) -> String {
    format!("/v1/projects/{}", segment(project.as_str()))
}

/// `POST`: the memories that rank best for a task.
pub fn query_memories(of: &ProjectId) -> String {
    project(of) + "/memory/query"
}

/// `GET`: all memories with what moved them, newest first.
pub fn memories(of: &ProjectId) -> String {
    project(of) + "/memories"
}

/// `GET`: a page of them, as query parameters.
pub fn list_memories(of: &ProjectId, limit: Option<u32>, before: Option<&MemoryId>) -> String {
    let limit = limit.map(|limit| limit.to_string());
    with_parameters(
        memories(of),
        &[
            ("limit", limit.as_deref()),
            ("before", before.map(MemoryId::as_str)),
        ],
    )
}

/// `GET`: one memory with what moved it.
pub fn memory(of: &ProjectId, id: &MemoryId) -> String {
    format!("{}/{}", memories(of), segment(id.as_str()))
}

/// `GET`: the project in numbers.
pub fn stats(of: &ProjectId) -> String {
    project(of) + "/stats"
}

/// `POST`: takes in what another project was made of. Below it, `GET /memories` and `GET /traces`
/// give that away.
pub fn archive(of: &ProjectId) -> String {
    project(of) + "/archive"
}

/// `POST` stores a trace, `GET` lists them.
pub fn traces(of: &ProjectId) -> String {
    project(of) + "/traces"
}

/// `GET`: the traces that `which` asks for, as query parameters.
pub fn list_traces(of: &ProjectId, which: &ListTraces) -> String {
    let limit = which.limit.map(|limit| limit.to_string());
    let parameters = [
        (
            "review_status",
            which.review_status.as_ref().map(ReviewStatus::as_str),
        ),
        (
            "ingest_status",
            which.ingest_status.as_ref().map(IngestStatus::as_str),
        ),
        ("limit", limit.as_deref()),
        ("before", which.before.as_ref().map(TraceId::as_str)),
    ];
    with_parameters(traces(of), &parameters)
}

/// `GET`: one trace.
pub fn trace(of: &ProjectId, trace: &TraceId) -> String {
    format!("{}/{}", traces(of), segment(trace.as_str()))
}

/// `POST` judges a stored trace, `PUT` judges it otherwise, `DELETE` takes the review back.
pub fn review_trace(of: &ProjectId, id: &TraceId) -> String {
    trace(of, id) + "/review"
}

/// `POST`: puts a failed ingestion back into the queue.
pub fn retry_trace(of: &ProjectId, id: &TraceId) -> String {
    trace(of, id) + "/retry"
}

/// `POST`: removes traces.
pub fn delete_traces(of: &ProjectId) -> String {
    traces(of) + "/delete"
}

/// `GET`: the project's skill.
pub fn skill(of: &ProjectId) -> String {
    project(of) + "/skill"
}

/// `POST`: writes the skill anew.
pub fn create_skill(of: &ProjectId) -> String {
    skill(of) + "/create"
}

/// `GET` lists the keys, `POST` makes one.
pub fn api_keys(of: &ProjectId) -> String {
    project(of) + "/api-keys"
}

/// `POST`: ends a key.
pub fn revoke_api_key(of: &ProjectId, key: &KeyId) -> String {
    format!("{}/{}/revoke", api_keys(of), segment(key.as_str()))
}

/// The path with the parameters that have a value.
fn with_parameters(path: String, parameters: &[(&str, Option<&str>)]) -> String {
    let given = parameters.iter().filter_map(|&(name, value)| {
        let value = segment(value?);
        Some(format!("{name}={value}"))
    });
    let given: Vec<String> = given.collect();
    if given.is_empty() {
        path
    } else {
        format!("{path}?{}", given.join("&"))
    }
}

fn segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_never_leaves_its_segment() {
        let of = ProjectId::from("a/b c?d#e%f_-.~ü");
        assert_eq!(project(&of), "/v1/projects/a%2Fb%20c%3Fd%23e%25f_-.~%C3%BC");
        assert_eq!(
            review_trace(&ProjectId::default(), &TraceId::from("x/y")),
            "/v1/projects/default/traces/x%2Fy/review"
        );
    }

    #[test]
    fn only_the_parameters_that_were_given_are_sent() {
        let of = ProjectId::default();
        let mut which = ListTraces::default();
        assert_eq!(list_traces(&of, &which), "/v1/projects/default/traces");
        which.review_status = Some(ReviewStatus::Pending);
        which.ingest_status = Some(IngestStatus::Failed);
        which.before = Some(TraceId::from("a&b"));
        assert_eq!(
            list_traces(&of, &which),
            "/v1/projects/default/traces?review_status=pending&ingest_status=failed&before=a%26b"
        );
    }
}
