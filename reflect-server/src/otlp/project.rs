//! The projects of the spans of a request.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use reflect_types::ProjectId;
use reflect_types::spans::{Attributes, SpanRecord};

use crate::access::named_project;
use crate::error::ApiError;
use crate::keys::Caller;

/// The attribute of a resource that names the project of its spans.
const PROJECT: &str = "reflect.project";

/// Spans by project: that of their resource, else of the header, else of the key.
pub(super) struct ByProject<'a> {
    caller: &'a Caller,
    default: ProjectId,
    pub(super) records: BTreeMap<ProjectId, Vec<SpanRecord>>,
}

impl<'a> ByProject<'a> {
    pub(super) fn new(caller: &'a Caller, headers: &HeaderMap) -> Result<Self, ApiError> {
        Ok(Self {
            caller,
            default: named_project(caller, headers)?,
            records: BTreeMap::new(),
        })
    }

    /// The records of a resource. Refuses a project that the key does not open.
    pub(super) fn of(&mut self, resource: &Attributes) -> Result<&mut Vec<SpanRecord>, ApiError> {
        let named = resource.get(PROJECT).and_then(|name| name.as_str());
        let project = named.map_or_else(|| self.default.clone(), ProjectId::from);
        if !self.caller.opens(&project) {
            return Err(ApiError::other_project(&project));
        }
        Ok(self.records.entry(project).or_default())
    }
}
