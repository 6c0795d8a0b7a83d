//! The project that a command works on, on a server or in a file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use reflect_sdk::ReflectClient;
use reflect_types::ProjectId;
use secrecy::{ExposeSecret as _, SecretString};

use crate::command_line::{has_flag, hint};
use crate::data::{Connections, Data, DataParser};
use crate::failure::Failure;
use crate::file::File;
use crate::local::Local;
use crate::models::Models;
use crate::{project, secret};

#[derive(Debug, Args)]
#[command(next_help_heading = crate::help::GLOBAL)]
pub(crate) struct Place {
    /// The database to open directly, without a server: a file, or a `postgres://` address.
    #[arg(
        long, visible_alias = "database-url", env = "REFLECT_DATA", hide_env_values = true,
        value_parser = DataParser, global = true
    )]
    pub(crate) data: Option<Data>,
    #[command(flatten)]
    pub(crate) connections: Connections,
    /// The URL of a server, such as `http://localhost:8000`.
    #[arg(long, env = "REFLECT_BASE_URL", global = true)]
    pub(crate) url: Option<String>,
    /// The API key for that server.
    #[arg(
        long, env = "REFLECT_API_KEY", hide_env_values = true, value_parser = secret::parse,
        global = true
    )]
    pub(crate) key: Option<SecretString>,
    /// A file containing the API key.
    #[arg(long, env = "REFLECT_API_KEY_FILE", global = true)]
    pub(crate) key_file: Option<PathBuf>,
    /// The project (default: `default`; for `import`, the exported project).
    #[arg(long, env = "REFLECT_PROJECT_ID", global = true)]
    pub(crate) project: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The flag of the API key, which a command may rename.
    #[arg(skip = "--key")]
    pub(crate) key_flag: &'static str,
}

impl Place {
    pub(crate) fn project(&self) -> ProjectId {
        self.project
            .as_deref()
            .map_or_else(ProjectId::default, ProjectId::from)
    }

    /// A client of a project that exists, for calls that need no model.
    pub(crate) async fn client(&self) -> Result<ReflectClient, Failure> {
        self.existing_project(self.client_of_any().await?).await
    }

    /// A client of a project that exists, for calls that may need a model. On a file, the models are
    /// those that the environment configures.
    pub(crate) async fn client_with_models(&self) -> Result<ReflectClient, Failure> {
        self.existing_project(self.client_with(Models::from_env).await?)
            .await
    }

    /// A client of a project that a call may create, or that does not matter.
    pub(crate) async fn client_of_any(&self) -> Result<ReflectClient, Failure> {
        self.client_with(|| Ok(Models::default())).await
    }

    async fn existing_project(&self, client: ReflectClient) -> Result<ReflectClient, Failure> {
        project::ensure(&client, self.name()?, "--project").await?;
        Ok(client)
    }

    /// Where the project is, in messages.
    fn name(&self) -> Result<String, Failure> {
        Ok(match &self.data {
            Some(data) if self.is_file()? => format!("in {data}"),
            _ => "on the server".to_owned(),
        })
    }

    async fn client_with(
        &self,
        models: impl FnOnce() -> Result<Models, Failure>,
    ) -> Result<ReflectClient, Failure> {
        if self.is_file()? {
            let file = File::open(self.existing()?, self.connections, &models()?).await?;
            return of_file(self.project(), file);
        }
        self.of_server(self.project())
    }

    /// A client of a project that a call may create. A missing file is created too.
    pub(crate) async fn client_to_fill(
        &self,
        project: ProjectId,
    ) -> Result<ReflectClient, Failure> {
        match &self.data {
            Some(data) if self.is_file()? => {
                let file = File::open(data, self.connections, &Models::default()).await?;
                of_file(project, file)
            }
            _ => self.of_server(project),
        }
    }

    /// A client to import runs with, and the file behind it if its engine learns from their reviews: a file that a
    /// server has used is left to that server, which may have models.
    pub(crate) async fn client_to_import_runs(
        &self,
    ) -> Result<(ReflectClient, Option<File>), Failure> {
        let Some(data) = self
            .data
            .as_ref()
            .filter(|_| self.is_file().unwrap_or(false))
        else {
            return Ok((self.client_to_fill(self.project()).await?, None));
        };
        let file = File::open(data, self.connections, &Models::default()).await?;
        if file.existing_keys().await?.is_some() {
            return Ok((of_file(self.project(), file)?, None));
        }
        file.engine.shutdown().await?;
        self.client_of_service().await
    }

    /// A client for a service of its own, with the file behind it, which is created if missing and
    /// whose engine does all background work. Its user shuts it down.
    pub(crate) async fn client_of_service(&self) -> Result<(ReflectClient, Option<File>), Failure> {
        match &self.data {
            Some(data) if self.is_file()? => {
                let file = File::serve(data, self.connections, &Models::from_env()?).await?;
                Ok((of_file(self.project(), file.clone())?, Some(file)))
            }
            _ => Ok((self.of_server(self.project())?, None)),
        }
    }

    fn of_server(&self, project: ProjectId) -> Result<ReflectClient, Failure> {
        let (url, key) = self.server()?;
        let builder = ReflectClient::builder().project(project);
        Ok(builder.http(url, key.expose_secret())?)
    }

    /// Whether the command works on the file rather than on the server. A flag takes precedence over
    /// an environment variable; two flags or two variables are an error.
    pub(crate) fn is_file(&self) -> Result<bool, Failure> {
        if self.data.is_none() || self.url.is_none() {
            return Ok(self.data.is_some());
        }
        let (typed_data, typed_url) = (has_data_flag(), has_flag("--url"));
        if typed_data == typed_url {
            return Err(Failure::usage(
                "both a file and a server are given: keep either --data (REFLECT_DATA) or --url \
                 (REFLECT_BASE_URL)",
            ));
        }
        Ok(typed_data)
    }

    /// Whether the project comes from the flag rather than from the environment.
    pub(crate) fn typed_project(&self) -> bool {
        self.project.is_some() && has_flag("--project")
    }

    fn server(&self) -> Result<(&str, SecretString), Failure> {
        let Some(url) = &self.url else {
            return Err(Failure::usage(
                "no file and no server given: use --data FILE, or --url URL with --key KEY \
                 (REFLECT_DATA, or REFLECT_BASE_URL with REFLECT_API_KEY)",
            ));
        };
        let key = secret::read(self.key_flag, self.key.clone(), self.key_file.clone())?;
        let Some(key) = key else {
            return Err(Failure::usage(
                "a server needs an API key: use --key KEY (REFLECT_API_KEY)",
            ));
        };
        Ok((url, key))
    }

    /// The existing file, without models.
    pub(crate) async fn file(&self) -> Result<File, Failure> {
        File::open(self.existing()?, self.connections, &Models::default()).await
    }

    /// The existing file, for work on master keys, which the HTTP API does not offer. With a server
    /// given by flag, a file given by the environment is not used.
    pub(crate) async fn master_key_file(&self) -> Result<File, Failure> {
        if !self.is_file()? && self.url.is_some() {
            return Err(Failure::usage(
                "master keys are managed in the database file, not over HTTP: use --data FILE \
                 without --url",
            ));
        }
        self.file().await
    }

    pub(crate) fn existing(&self) -> Result<&Data, Failure> {
        let Some(data) = &self.data else {
            return Err(Failure::usage(
                "this command works on a file: use --data FILE (REFLECT_DATA)",
            ));
        };
        data.existing(format_args!(
            "check the path; `{}` creates one",
            hint("serve")
        ))
    }
}

fn has_data_flag() -> bool {
    has_flag("--data") || has_flag("--database-url")
}

fn of_file(project: ProjectId, file: File) -> Result<ReflectClient, Failure> {
    let builder = ReflectClient::builder().project(project);
    Ok(builder.transport(Arc::new(Local(file)))?)
}
