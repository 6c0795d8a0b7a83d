use std::sync::Arc;

use reflect_types::{Bootstrap, Bootstrapped, DeletedProject, Health, InvalidField, Validate};
use secrecy::{ExposeSecret, SecretString};

use super::call::{Call, CallContext, Operation};
use super::{Handle, ReflectClient};
use crate::error::Result;
use crate::transport::Http;

/// Asks whether Reflect is up; see [`ReflectClient::health`].
#[derive(Clone, Debug)]
pub struct GetHealth(());

/// Removes the project; see [`ReflectClient::delete_project`].
#[derive(Clone, Debug)]
pub struct DeleteProject(());

/// Asks for a project's first key; see [`ReflectClient::bootstrap`].
#[derive(Clone, Debug)]
pub struct BootstrapProject {
    http: Arc<Http>,
    token: SecretString,
    request: Bootstrap,
}

impl ReflectClient {
    /// Asks a server for the first key of a project, with the bootstrap token it was started with.
    ///
    /// ```no_run
    /// use reflect_sdk::{Bootstrap, ReflectClient};
    ///
    /// # async fn run() -> reflect_sdk::Result<()> {
    /// let url = "http://localhost:8000";
    /// let made = ReflectClient::bootstrap(url, "token", Bootstrap::new("ada", "support"))?.await?;
    /// let client = ReflectClient::builder().project(made.project_id).http(url, made.api_key)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bootstrap(
        base_url: impl AsRef<str>,
        token: impl Into<String>,
        request: Bootstrap,
    ) -> Result<Call<BootstrapProject>> {
        let builder = Self::builder().project(&request.project_id);
        let http = Arc::new(Http::new(base_url.as_ref(), None, builder.http_options())?);
        let core = builder.core(Arc::clone(&http) as _)?;
        let token = SecretString::from(token.into());
        Ok(Call::new(
            Arc::new(Handle::new(Arc::new(core))),
            BootstrapProject {
                http,
                token,
                request,
            },
        ))
    }
}

impl<M> ReflectClient<M> {
    /// Whether Reflect is up. It needs no key.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// println!("{}", client.health().await?.status());
    /// # Ok(())
    /// # }
    /// ```
    pub fn health(&self) -> Call<GetHealth, M> {
        self.call(GetHealth(()))
    }

    /// Removes the project with all its traces, memories and keys. There is no way back.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client.delete_project().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_project(&self) -> Call<DeleteProject, M> {
        self.call(DeleteProject(()))
    }
}

impl Operation for GetHealth {
    type Output = Health;

    fn check(&self) -> Result<(), InvalidField> {
        Ok(())
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Health> {
        core.send(|| core.transport().health()).await
    }
}

impl Operation for DeleteProject {
    type Output = DeletedProject;

    fn check(&self) -> Result<(), InvalidField> {
        Ok(())
    }

    async fn run(self, CallContext(core): CallContext) -> Result<DeletedProject> {
        // Its key goes with it: a second try could only be refused.
        core.send_once(|| core.transport().delete_project(&core.project))
            .await
    }
}

impl Operation for BootstrapProject {
    type Output = Bootstrapped;

    fn check(&self) -> Result<(), InvalidField> {
        if self.token.expose_secret().trim().is_empty() {
            return Err(InvalidField::new(
                "bootstrap_token",
                "is empty: pass the token the server was started with",
            ));
        }
        self.request.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Bootstrapped> {
        core.send_once(|| self.http.bootstrap(&self.token, &self.request))
            .await
    }
}
