use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::id::ProjectId;

/// How a request maps to path, query and body.
pub trait Layout {
    /// The second path parameter.
    fn id(&self) -> Option<&str> {
        None
    }

    /// The query parameters that have a value.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether this request may be repeated, where its operation may.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// The JSON body; empty for none.
    fn body(&self) -> serde_json::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// The parameters that have a value.
pub(crate) fn given<const N: usize>(
    all: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    let given = all.into_iter();
    given
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The text of a parameter.
pub(crate) fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Reads.
    Get,
    /// Creates, or acts.
    Post,
    /// Replaces.
    Put,
    /// Changes in part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// The method's name in capitals.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Whether a call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// A second call changes nothing that the first did not.
    Freely,
    /// Only if the first call is known not to have been carried out.
    IfNotDone,
}

/// Everything but letters, digits and `-_.~`, so that a `/` in an id stays inside its segment.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

fn segment(text: &str) -> percent_encoding::PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// The path of a request, with its ids in the template and its parameters behind.
pub(crate) fn path(template: &str, project: &ProjectId, request: &impl Layout) -> String {
    let mut path = String::with_capacity(template.len() + 32);
    for part in template.split_inclusive('/') {
        let (name, slash) = match part.strip_suffix('/') {
            Some(name) => (name, "/"),
            None => (part, ""),
        };
        match name {
            "{project_id}" => path.extend(segment(project.as_str())),
            placeholder if placeholder.starts_with('{') => {
                let id = request.id();
                debug_assert!(id.is_some(), "{template} needs `Layout::id`");
                path.extend(segment(id.unwrap_or_default()));
            }
            literal => path.push_str(literal),
        }
        path.push_str(slash);
    }
    for (index, (name, value)) in request.parameters().iter().enumerate() {
        path.push(if index == 0 { '?' } else { '&' });
        path.push_str(name);
        path.push('=');
        path.extend(segment(value));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Forgetful;

    impl Layout for Forgetful {}

    #[test]
    #[should_panic(expected = "/traces/{trace_id}/similar needs `Layout::id`")]
    fn a_request_that_leaves_out_its_id_is_caught() {
        path(
            "/traces/{trace_id}/similar",
            &ProjectId::default(),
            &Forgetful,
        );
    }
}
