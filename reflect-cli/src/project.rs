//! Whether a project exists: one that does not looks empty to those who may see all.

use std::fmt::Display;

use reflect_sdk::ReflectClient;
use reflect_types::{Page, ProjectId, Trace};

use crate::failure::Failure;

/// The projects that a message names.
const MAX_NAMED: usize = 10;

/// Fails if the project of the client, which `flag` chooses, does not exist. A first request that shows a run is all
/// that it takes; a key that may not see runs is left to the command itself.
pub(crate) async fn ensure(
    client: &ReflectClient,
    at: impl Display,
    flag: &str,
) -> Result<(), Failure> {
    match client.list_traces().limit(1).await {
        Ok(page) => match missing(client, &page, at).await {
            Some(problem) if *client.project() == ProjectId::default() => Err(Failure::not_found(
                format!("{problem}: choose one with {flag}"),
            )),
            Some(problem) => Err(Failure::not_found(problem)),
            None => Ok(()),
        },
        Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// That the project does not exist, in words, where the list of its runs is empty.
pub(crate) async fn missing(
    client: &ReflectClient,
    runs: &Page<Trace>,
    at: impl Display,
) -> Option<String> {
    if !runs.items.is_empty() {
        return None;
    }
    // The other server of an import may have no list.
    let listed = client.admin().list_projects().await;
    let listed = listed.inspect_err(|error| tracing::debug!(%error, "no list of projects"));
    let projects = listed.ok()?;
    let ids = projects.into_iter().map(|project| project.project_id);
    absence(client.project(), &ids.collect::<Vec<_>>(), at)
}

/// That a project is not among the existing ones. Where there is none yet, it may become the first.
pub(crate) fn absence(
    project: &ProjectId,
    existing: &[ProjectId],
    at: impl Display,
) -> Option<String> {
    if existing.is_empty() || existing.contains(project) {
        return None;
    }
    let named = existing.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(|id| format!("`{id}`")).collect();
    let more = match existing.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    Some(format!(
        "there is no project `{project}` {at}: it has {named}{more}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_project_names_those_that_exist() {
        let ids = |names: &[&str]| {
            names
                .iter()
                .copied()
                .map(ProjectId::from)
                .collect::<Vec<_>>()
        };
        let said = |existing: &[&str]| absence(&"foo".into(), &ids(existing), "in a.db");
        assert_eq!(
            said(&["default", "support"]).unwrap(),
            "there is no project `foo` in a.db: it has `default`, `support`"
        );
        assert_eq!(said(&["foo"]), None);
        assert_eq!(said(&[]), None);
        let many: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(said(&many).unwrap().ends_with("`9` and 2 more"));
    }
}
