//! The client's transport to a file: the engine and the keys, without HTTP between.

use reflect_sdk::transport::{BoxFuture, Reply, Request};
use reflect_sdk::{Error, Result, Transport};
use reflect_types::ProjectId;

use super::place::File;

/// A file as the client sees it.
#[derive(Debug)]
pub(super) struct Local(pub(super) File);

impl Transport for Local {
    fn call<'a>(
        &'a self,
        project: &'a ProjectId,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let replied = self.reply(project, request).await;
            replied.map_err(|error| Error::from(error.body()))
        })
    }
}

impl Local {
    /// Keys are the server's, everything else is the engine's.
    async fn reply(
        &self,
        project: &ProjectId,
        request: &Request,
    ) -> Result<Reply, reflect_engine::Error> {
        let File { engine, keys } = &self.0;
        Ok(match request {
            Request::ListApiKeys(_) => Reply::ListApiKeys(keys.list(Some(project)).await?),
            Request::CreateApiKey(key) => {
                Reply::CreateApiKey(keys.create(engine, project, key.clone()).await?)
            }
            Request::RevokeApiKey(revoke) => {
                Reply::RevokeApiKey(keys.revoke(Some(project), &revoke.key_id).await?)
            }
            Request::DeleteProject(_) => {
                let mut gone = engine.delete_project(project).await?;
                gone.deleted |= keys.delete_project(project).await?;
                Reply::DeleteProject(gone)
            }
            _ => engine.call(project, request).await?,
        })
    }
}
