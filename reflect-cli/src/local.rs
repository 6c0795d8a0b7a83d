//! The SDK transport to a database file.

use reflect_sdk::transport::{BoxFuture, Reply, Request};
use reflect_sdk::{Error, Result, Transport};
use reflect_types::ProjectId;

use crate::file::File;

/// A database file as an SDK transport.
#[derive(Debug)]
pub(crate) struct Local(pub(super) File);

impl Transport for Local {
    fn call<'a>(
        &'a self,
        project: &'a ProjectId,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let reply = self.reply(project, request).await;
            reply.map_err(|error| refusal(&error))
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.engine.shutdown().await {
                tracing::warn!(%error, "the file was not closed cleanly");
            }
        })
    }
}

fn refusal(error: &reflect_engine::Error) -> Error {
    Error::from(error.body()).with_retry_after(error.retry_after())
}

impl Local {
    /// Keys belong to the server, everything else to the engine.
    async fn reply(&self, project: &ProjectId, request: &Request) -> reflect_engine::Result<Reply> {
        let Self(file) = self;
        Ok(match request {
            Request::ListApiKeys(_) => Reply::ListApiKeys(match file.existing_keys().await? {
                Some(keys) => keys.list(Some(project)).await?,
                None => Vec::new(),
            }),
            Request::CreateApiKey(key) => {
                let keys = file.keys().await?;
                Reply::CreateApiKey(keys.create(&file.engine, project, key.clone()).await?)
            }
            Request::RevokeApiKey(revoke) => {
                let keys = file.keys().await?;
                Reply::RevokeApiKey(keys.revoke(Some(project), &revoke.key_id).await?)
            }
            _ => file.engine.call(project, request).await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_delay_that_a_model_asks_for_is_kept() {
        let delay = Some(Duration::from_secs(7));
        let refused = reflect_models::Error::Refused {
            status: 429,
            message: "later".to_owned(),
            retry_after: delay,
        };
        let error = reflect_engine::Error::Model(refused.into());
        assert_eq!(refusal(&error).retry_after(), delay);
    }
}
