//! Where the client commands find Reflect: at a server, or straight in a file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use reflect_engine::Engine;
use reflect_engine::store::Sqlite;
use reflect_sdk::ReflectClient;
use reflect_server::keys::{self, Keys};
use reflect_types::ProjectId;
use secrecy::{ExposeSecret as _, SecretString};

use super::archive::{Archive, Source};
use super::failure::Failure;
use super::local::Local;
use super::models::Models;
use super::remote::Remote;
use super::secret;

#[derive(Debug, Args)]
pub(super) struct Place {
    /// A database file, to be opened without a server.
    #[arg(long, env = "REFLECT_DATA", global = true)]
    pub(super) data: Option<PathBuf>,
    /// The address of a server, such as `http://localhost:8000`.
    #[arg(long, env = "REFLECT_BASE_URL", global = true)]
    pub(super) url: Option<String>,
    /// The API key for that server.
    #[arg(
        long, env = "REFLECT_API_KEY", hide_env_values = true, value_parser = secret::parse,
        global = true
    )]
    pub(super) key: Option<SecretString>,
    /// A file that holds the API key.
    #[arg(long, env = "REFLECT_API_KEY_FILE", global = true)]
    pub(super) key_file: Option<PathBuf>,
    /// The project; `default` unless set, and for `import` the one that was exported.
    #[arg(long, env = "REFLECT_PROJECT_ID", global = true)]
    pub(super) project: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// A file, opened.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) engine: Engine,
    pub(super) keys: Keys,
}

impl Place {
    pub(super) fn project(&self) -> ProjectId {
        self.project
            .as_deref()
            .map_or_else(ProjectId::default, ProjectId::from)
    }

    /// A client of the server or of the file, for what needs no model.
    pub(super) async fn client(&self) -> Result<ReflectClient, Failure> {
        self.client_with(|| Ok(Models::default())).await
    }

    /// A client for what may need a model: on a file those that its server has, if the variables
    /// tell.
    pub(super) async fn client_with_models(&self) -> Result<ReflectClient, Failure> {
        self.client_with(Models::from_env).await
    }

    async fn client_with(
        &self,
        models: impl FnOnce() -> Result<Models, Failure>,
    ) -> Result<ReflectClient, Failure> {
        let builder = ReflectClient::builder().project(self.project());
        if self.is_file()? {
            let file = open(self.existing()?.clone(), &models()?).await?;
            return Ok(builder.transport(Arc::new(Local(file)))?);
        }
        let (url, key) = self.server()?;
        Ok(builder.http(url, key.expose_secret())?)
    }

    /// All that the project holds, at the server or in the file, which has to be there.
    pub(super) async fn archive(&self) -> Result<Archive, Failure> {
        let source = if self.is_file()? {
            Source::File(self.file().await?.engine)
        } else {
            self.remote()?
        };
        Ok(Archive {
            project: self.project(),
            source,
        })
    }

    /// The same to put something into, for which a file is made where there is none.
    pub(super) async fn archive_to_fill(&self, project: ProjectId) -> Result<Archive, Failure> {
        let source = match &self.data {
            Some(path) if self.is_file()? => {
                Source::File(open(path.clone(), &Models::default()).await?.engine)
            }
            _ => self.remote()?,
        };
        Ok(Archive { project, source })
    }

    /// Whether to work on the file rather than on the server. What was typed counts for more than
    /// what a variable happens to say, and between equals nobody guesses.
    fn is_file(&self) -> Result<bool, Failure> {
        if self.data.is_none() || self.url.is_none() {
            return Ok(self.data.is_some());
        }
        let (typed_data, typed_url) = (is_typed("--data"), is_typed("--url"));
        if typed_data == typed_url {
            return Err(Failure::usage(
                "both a file and a server are named: keep either --data (REFLECT_DATA) or --url \
                 (REFLECT_BASE_URL)",
            ));
        }
        Ok(typed_data)
    }

    /// Whether the project was typed, and not taken from a variable.
    pub(super) fn typed_project(&self) -> bool {
        self.project.is_some() && is_typed("--project")
    }

    fn remote(&self) -> Result<Source, Failure> {
        let (url, key) = self.server()?;
        Ok(Source::Server(Remote::new(url, key)?))
    }

    fn server(&self) -> Result<(&str, SecretString), Failure> {
        let Some(url) = &self.url else {
            return Err(Failure::usage(
                "say where Reflect is: --data FILE, or --url ADDRESS with --key KEY \
                 (REFLECT_DATA, or REFLECT_BASE_URL with REFLECT_API_KEY)",
            ));
        };
        let key = secret::read("--key", self.key.clone(), self.key_file.clone())?;
        let Some(key) = key else {
            return Err(Failure::usage(
                "a server asks for a key: --key KEY (REFLECT_API_KEY)",
            ));
        };
        Ok((url, key))
    }

    /// The file, which has to be there, for what needs no model.
    pub(super) async fn file(&self) -> Result<File, Failure> {
        open(self.existing()?.clone(), &Models::default()).await
    }

    /// The file for what only a file has. A server that is named, rather than the file, is not asked
    /// for it, and a file that only a variable names is not meant then.
    pub(super) async fn file_of_masters(&self) -> Result<File, Failure> {
        if !self.is_file()? && self.url.is_some() {
            return Err(Failure::usage(
                "master keys are made and ended in the database file, not over HTTP: name it with \
                 --data FILE, without --url",
            ));
        }
        self.file().await
    }

    fn existing(&self) -> Result<&PathBuf, Failure> {
        let Some(path) = &self.data else {
            return Err(Failure::usage(
                "this works on a file: --data FILE (REFLECT_DATA)",
            ));
        };
        if !path.exists() {
            return Err(Failure::usage(format!(
                "{}: there is no such file. `reflect serve --data` makes one",
                path.display()
            )));
        }
        Ok(path)
    }
}

/// Whether the flag stands on the command line, so that its value is no variable's.
fn is_typed(flag: &str) -> bool {
    let with_value = format!("{flag}=");
    std::env::args_os().any(|argument| {
        let argument = argument.to_string_lossy();
        argument == flag || argument.starts_with(&with_value)
    })
}

/// Opens a file, made where there is none. Jobs and vectors stay as they are: they belong to the
/// server.
async fn open(path: PathBuf, models: &Models) -> Result<File, Failure> {
    let opened = tokio::task::spawn_blocking(move || {
        let store = Sqlite::open(&path)?;
        Ok::<_, reflect_engine::Error>((store, keys::Sqlite::open(path)?))
    });
    let (store, key_store) = opened
        .await
        .map_err(|error| Failure::general(error.to_string()))??;
    let engine = Engine::builder().store(Arc::new(store)).only_on_call();
    Ok(File {
        engine: models.install(engine).start()?,
        keys: Keys::new(Arc::new(key_store), None),
    })
}
