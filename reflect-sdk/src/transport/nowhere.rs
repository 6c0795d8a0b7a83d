use async_trait::async_trait;
use reflect_types::{
    ApiKey, CreateApiKey, CreateSkill, CreateTrace, CreatedApiKey, DeleteTraces, DeletedProject,
    DeletedTraces, Health, KeyId, ListTraces, Memory, ProjectId, QueryMemories, Review, Skill,
    Trace, TraceId, TraceReceipt,
};

use super::Transport;
use crate::error::{Error, Result};

/// What stands behind a disabled client. It is never asked; if it were, it would refuse.
#[derive(Debug)]
pub(crate) struct Nowhere;

macro_rules! refuse {
    ($($method:ident($(&$argument:ident),*) -> $reply:ty;)*) => {
        #[async_trait]
        impl Transport for Nowhere {
            $(
                async fn $method(&self $(, _: &$argument)*) -> Result<$reply> {
                    Err(Error::Disabled)
                }
            )*
        }
    };
}

refuse! {
    health() -> Health;
    query_memories(&ProjectId, &QueryMemories) -> Vec<Memory>;
    create_trace(&ProjectId, &CreateTrace, &str) -> TraceReceipt;
    list_traces(&ProjectId, &ListTraces) -> Vec<Trace>;
    get_trace(&ProjectId, &TraceId) -> Trace;
    review_trace(&ProjectId, &TraceId, &Review) -> Trace;
    change_review(&ProjectId, &TraceId, &Review) -> Trace;
    withdraw_review(&ProjectId, &TraceId) -> Trace;
    retry_trace(&ProjectId, &TraceId) -> TraceReceipt;
    delete_traces(&ProjectId, &DeleteTraces) -> DeletedTraces;
    get_skill(&ProjectId) -> Option<Skill>;
    create_skill(&ProjectId, &CreateSkill) -> Skill;
    list_api_keys(&ProjectId) -> Vec<ApiKey>;
    create_api_key(&ProjectId, &CreateApiKey) -> CreatedApiKey;
    revoke_api_key(&ProjectId, &KeyId) -> ApiKey;
    delete_project(&ProjectId) -> DeletedProject;
}
