use clap::Args;
use reflect_models::Prompt;
use reflect_sdk::ReflectClient;
use reflect_server::keys::KeyText;
use reflect_types::{IngestStatus, KeyStatus, ListTraces, ProjectId, ReviewStatus, Validate as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use super::failure::Failure;
use super::place::{File, Place};
use super::{models, output, secret};

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    models: models::ModelOptions,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    what: String,
    /// How to put it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Warning,
    Bad,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let place = options.place;
    let mut findings = Findings::default();
    if let Err(invalid) = place.project().validate() {
        findings.bad(
            invalid.to_string(),
            "name the project with --project (REFLECT_PROJECT_ID)",
        );
        return findings.tell(place.json);
    }
    if place.data.is_some() {
        data(&place, &mut findings).await;
    }
    if place.url.is_some() {
        server(&place, &mut findings).await;
    }
    match options.models.models() {
        Ok(configured) => ask_models(&configured, &mut findings).await,
        Err(failure) => findings.bad(failure.to_string(), "correct the settings of the models"),
    }
    if place.data.is_none() && place.url.is_none() {
        findings.bad(
            "nothing says where Reflect is",
            "name a file with --data (REFLECT_DATA), or a server with --url (REFLECT_BASE_URL) \
             and --key (REFLECT_API_KEY)",
        );
    }
    findings.tell(place.json)
}

/// One short question to each model.
async fn ask_models(models: &models::Models, findings: &mut Findings) {
    if let Some(llm) = &models.llm {
        let question = Prompt::new("Answer in one word.", "Say: ready");
        let what = |problem: String| format!("the model `{}` {problem}", llm.model());
        match llm.complete(&question).await {
            Ok(_) => findings.good(what(format!("answers ({})", llm.usage()))),
            Err(error) => findings.bad(
                what(format!("is of no use: {error}")),
                "check --llm-model, --llm-base-url and --llm-api-key (REFLECT_LLM_MODEL, …)",
            ),
        }
    }
    if let Some(embeddings) = &models.embeddings {
        let what =
            |problem: String| format!("the embeddings of `{}` {problem}", embeddings.model());
        match embeddings
            .embed(&["Refund order 7"], models.dimensions)
            .await
        {
            Ok(vectors) => {
                let dims = vectors.first().map_or(0, Vec::len);
                findings.good(what(format!("have {dims} dimensions")));
            }
            Err(error) => findings.bad(
                what(format!("are of no use: {error}")),
                "check --embeddings-model, --embeddings-base-url and --embeddings-api-key \
                 (REFLECT_EMBEDDINGS_MODEL, …)",
            ),
        }
    }
}

async fn data(place: &Place, findings: &mut Findings) {
    match place.file().await {
        Ok(file) => {
            findings.good("the database opens");
            permissions(place, findings);
            contents(place, &file, findings).await;
            // Nothing is left to lose: what was found out is known.
            let _ = file.engine.shutdown().await;
        }
        Err(failure) => findings.bad(
            failure.to_string(),
            "point --data (REFLECT_DATA) at the file that `reflect serve` uses",
        ),
    }
}

async fn contents(place: &Place, file: &File, findings: &mut Findings) {
    let projects = file.engine.list_projects().await;
    match file.keys.list(None).await {
        Ok(keys) if keys.iter().any(|key| key.status == KeyStatus::Active) => {
            findings.good("there is a master key");
        }
        Ok(_) => findings.warn(
            "there is no master key in the file",
            match projects.as_deref() {
                Ok([]) => {
                    "a server that is started on it makes one and shows it once, unless it is given \
                     one with --master-key"
                }
                _ => {
                    "run `reflect keys create --master LABEL`, unless the server is given one with \
                     --master-key: only a new database gets one by itself"
                }
            },
        ),
        Err(error) => findings.bad(error.to_string(), "check the file"),
    }
    match projects {
        Ok(projects) if projects.is_empty() => findings.warn(
            "nothing was recorded yet",
            "record a run: see `reflect serve` and the SDK",
        ),
        Ok(projects) => {
            findings.good(format!("{} projects", projects.len()));
            if !projects.contains(&place.project()) {
                findings.warn(
                    format!("project `{}` holds nothing", place.project()),
                    "name another with --project (REFLECT_PROJECT_ID)",
                );
            }
            for project in projects {
                failed(file, &project, findings).await;
            }
        }
        Err(error) => findings.bad(error.to_string(), "check the file"),
    }
}

async fn failed(file: &File, project: &ProjectId, findings: &mut Findings) {
    let found = match file.engine.stats(project).await {
        Ok(stats) if stats.ingest_failed > 0 => failed_ids(file, project).await,
        Ok(_) => return,
        Err(error) => Err(error),
    };
    match found {
        Ok(ids) => findings.warn(
            format!("reviews of project `{project}` could not be worked on"),
            &format!(
                "`reflect traces retry --project {project} ID` tries again: {}",
                ids.join(", ")
            ),
        ),
        Err(error) => findings.bad(error.to_string(), "check the file"),
    }
}

/// Some of the runs whose review could not be worked on.
async fn failed_ids(file: &File, project: &ProjectId) -> reflect_engine::Result<Vec<String>> {
    const SHOWN: usize = 5;

    let mut ids = Vec::new();
    let mut list = ListTraces {
        review_status: Some(ReviewStatus::Pending),
        ..ListTraces::default()
    };
    loop {
        let page = file.engine.list_traces(project, &list).await?;
        let failed = page
            .items
            .iter()
            .filter(|trace| trace.ingest_status == IngestStatus::Failed);
        ids.extend(failed.map(|trace| trace.id.to_string()));
        if ids.len() > SHOWN {
            ids.truncate(SHOWN);
            ids.push("…".to_owned());
            return Ok(ids);
        }
        match page.cursor() {
            Some(last) => list.before = Some(last.id.clone()),
            None => return Ok(ids),
        }
    }
}

#[cfg(unix)]
fn permissions(place: &Place, findings: &mut Findings) {
    use std::os::unix::fs::PermissionsExt as _;

    let path = place.data.as_ref();
    let Some(metadata) = path.and_then(|path| path.metadata().ok()) else {
        return;
    };
    if metadata.permissions().mode() & 0o007 != 0 {
        findings.warn(
            "everybody on this machine can read the database",
            "chmod o-rwx the file and its folder",
        );
    }
}

#[cfg(not(unix))]
fn permissions(_: &Place, _: &mut Findings) {}

async fn server(place: &Place, findings: &mut Findings) {
    let key = match secret::read("--key", place.key.clone(), place.key_file.clone()) {
        Ok(Some(key)) => key,
        Ok(None) => {
            return findings.bad(
                "there is no key for the server",
                "set --key (REFLECT_API_KEY)",
            );
        }
        Err(failure) => return findings.bad(failure.to_string(), "point at the file of the key"),
    };
    shape(&key, findings);
    let url = place.url.clone().unwrap_or_default();
    let client = ReflectClient::builder()
        .project(place.project())
        .retry(reflect_sdk::RetryPolicy::default().attempts(1))
        .http(url, key.expose_secret());
    let client = match client {
        Ok(client) => client,
        Err(error) => return findings.bad(error.to_string(), "set --url (REFLECT_BASE_URL)"),
    };
    match client.health().await {
        Ok(health) => findings.good(format!("the server is {}", health.status())),
        Err(error) => {
            return findings.bad(
                format!("the server does not answer: {error}"),
                "start it with `reflect serve`, or correct --url (REFLECT_BASE_URL)",
            );
        }
    }
    match client.list_traces().limit(1).await {
        Ok(_) => findings.good(format!("the key opens project `{}`", place.project())),
        Err(error) if error.status() == Some(401) => findings.bad(
            "the server does not know the key, or it was revoked",
            "make one with `reflect keys create` and set --key (REFLECT_API_KEY)",
        ),
        // Both are a 403: a key of another project, and one of this project with other scopes.
        Err(error) if lacks_a_scope(&error) => findings.good(format!(
            "the key opens project `{}`, without the scope trace:read",
            place.project()
        )),
        Err(error) if error.status() == Some(403) => findings.bad(
            error.to_string(),
            "use a key of that project, or name the key's project with --project \
             (REFLECT_PROJECT_ID)",
        ),
        Err(error) => findings.bad(error.to_string(), "see the server's log"),
    }
}

fn lacks_a_scope(error: &reflect_sdk::Error) -> bool {
    error.status() == Some(403) && error.to_string().contains("scope")
}

fn shape(key: &SecretString, findings: &mut Findings) {
    if KeyText::parse(key.expose_secret()).is_none() {
        findings.warn(
            "the key does not look like `rf_live_<public>_<secret>`",
            "check that it was copied whole, without quotes or spaces",
        );
    }
}

impl Findings {
    /// Prints what was found; something bad makes the command fail.
    fn tell(&self, json: bool) -> Result<(), Failure> {
        if json {
            output::json(&self.0)?;
        } else {
            self.print()?;
        }
        if self.0.iter().any(|finding| finding.level == Level::Bad) {
            return Err(Failure::general(""));
        }
        Ok(())
    }

    fn good(&mut self, what: impl Into<String>) {
        self.add(Level::Good, what, None);
    }

    fn warn(&mut self, what: impl Into<String>, fix: &str) {
        self.add(Level::Warning, what, Some(fix));
    }

    fn bad(&mut self, what: impl Into<String>, fix: &str) {
        self.add(Level::Bad, what, Some(fix));
    }

    fn add(&mut self, level: Level, what: impl Into<String>, fix: Option<&str>) {
        self.0.push(Finding {
            level,
            what: what.into(),
            fix: fix.map(str::to_owned),
        });
    }

    fn print(&self) -> Result<(), Failure> {
        for finding in &self.0 {
            let mark = match finding.level {
                Level::Good => "ok  ",
                Level::Warning => "warn",
                Level::Bad => "BAD ",
            };
            output::say(format_args!("{mark}  {}", finding.what))?;
            if let Some(fix) = &finding.fix {
                output::say(format_args!("      {fix}"))?;
            }
        }
        Ok(())
    }
}
