use clap::Args;
use reflect_engine::Error;
use reflect_models::Prompt;
use reflect_sdk::ReflectClient;
use reflect_server::keys::{KeyText, is_valid};
use reflect_types::{IngestStatus, ListTraces, ProjectId, ReviewStatus, Stats, Validate as _};
use secrecy::{ExposeSecret as _, SecretString};

mod database;
mod findings;

use findings::Findings;

use crate::command_line::{hint, quoted};
use crate::data::Data;
use crate::failure::Failure;
use crate::file::File;
use crate::place::Place;
use crate::{models, output, permissions, project, secret};

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    models: models::ModelOptions,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let place = options.place;
    let mut findings = Findings::default();
    if let Err(invalid) = place.project().validate() {
        findings.bad(
            invalid.to_string(),
            "set the project with --project (REFLECT_PROJECT_ID)",
        );
        return findings.report(place.json);
    }
    if place.data.is_some() {
        check_file(&place, &mut findings).await;
    }
    if place.url.is_some() {
        check_server(&place, &mut findings).await;
    }
    match options.models.models() {
        Ok(configured) => check_models(&configured, &mut findings).await,
        Err(failure) => findings.bad(failure.to_string(), "correct the model settings"),
    }
    if place.data.is_none() && place.url.is_none() {
        findings.bad(
            "no file and no server is configured",
            "set a file with --data (REFLECT_DATA), or a server with --url (REFLECT_BASE_URL) \
             and --key (REFLECT_API_KEY)",
        );
    }
    findings.report(place.json)
}

/// Sends one short request to each model.
async fn check_models(models: &models::Models, findings: &mut Findings) {
    if let Some(llm) = &models.llm {
        let question = Prompt::new("Answer in one word.", "Say: ready");
        let what = |problem: String| format!("the model `{}` {problem}", llm.model());
        match llm.complete(&question).await {
            Ok(_) => findings.good(what(format!("answers ({})", llm.usage()))),
            Err(error) => findings.bad(
                what(format!("fails: {error}")),
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
                what(format!("fail: {error}")),
                "check --embeddings-model, --embeddings-base-url and --embeddings-api-key \
                 (REFLECT_EMBEDDINGS_MODEL, …)",
            ),
        }
    }
}

/// Checks the database, which may be a file.
async fn check_file(place: &Place, findings: &mut Findings) {
    let data = match place.existing() {
        Ok(data) => data,
        Err(failure) => return findings.bad(failure.to_string(), ANOTHER_FILE),
    };
    // As it is: an examination must not create what it examines.
    let file = match File::open_current(data, place.connections).await {
        Ok(file) => file,
        Err(Error::Empty { .. }) => {
            return findings.warn(
                format!("{data}: the database is empty"),
                &format!("`{}` creates its tables", hint("serve")),
            );
        }
        Err(error) => {
            let fix = match data {
                Data::File(_) => ANOTHER_FILE,
                Data::Postgres(_) => ANOTHER_ADDRESS,
            };
            return findings.bad(Failure::from(error).to_string(), fix);
        }
    };
    findings.good("the database opens");
    check_permissions(place, findings);
    let checked = async {
        database::check(&file, place.connections, findings).await?;
        check_embedders(&file, findings).await?;
        check_contents(place, &file, findings).await
    };
    if let Err(error) = checked.await {
        findings.bad(error.to_string(), "check the database");
    }
    // The checks are done, so an error while closing changes nothing.
    let _ = file.engine.shutdown().await;
}

const ANOTHER_FILE: &str = "set --data (REFLECT_DATA) to the file that `reflect serve` uses";
const ANOTHER_ADDRESS: &str = "set --data (REFLECT_DATA) to the address that `reflect serve` uses, and \
                               try it with `psql`: the server, its pg_hba.conf and the network between";

/// Says which embedders the memories have vectors of. A server with another one adds its own.
async fn check_embedders(file: &File, findings: &mut Findings) -> reflect_engine::Result<()> {
    for (known, lacking) in file.engine.embedders().await? {
        let (space, seen) = (&known.space, known.seen_at);
        let name = format!("`{}` ({} dimensions)", space.embedder, space.dims);
        if lacking == 0 {
            findings.good(format!("all memories are embedded with {name}"));
        } else {
            findings.warn(
                format!(
                    "{} not embedded with {name}, last used at {seen:.0}",
                    output::counted_that(lacking, "memory", "is", "are")
                ),
                "a server with it embeds them; without one, their vectors of it are deleted in time",
            );
        }
    }
    Ok(())
}

async fn check_contents(
    place: &Place,
    file: &File,
    findings: &mut Findings,
) -> reflect_engine::Result<()> {
    check_master_key(file, findings).await?;
    let projects = file.engine.list_projects().await?;
    if projects.is_empty() {
        findings.warn(
            "no runs are recorded yet",
            &format!("record a run: see `{}` and the SDK", hint("serve")),
        );
        return Ok(());
    }
    findings.good(output::counted(projects.len() as u64, "project"));
    if let Some(problem) = project::absence(&place.project(), &projects, "in the database") {
        no_project(problem, findings);
    }
    for project in projects {
        let stats = file.engine.stats(&project).await?;
        check_queue(&project, &stats, findings);
        check_ingestion(file, &project, &stats, findings).await?;
        check_memories(&project, &stats, findings);
    }
    Ok(())
}

async fn check_master_key(file: &File, findings: &mut Findings) -> reflect_engine::Result<()> {
    const UNLESS: &str = "unless the server gets one with --master-key";

    match file.existing_keys().await? {
        Some(keys) if keys.list(None).await?.iter().any(is_valid) => {
            findings.good("the database has a master key");
        }
        Some(_) => findings.warn(
            "the database has no master key",
            &format!("run `{}`, {UNLESS}", hint("keys create LABEL --master")),
        ),
        None => findings.warn(
            "no server has used the database: it has no master key",
            &format!(
                "`{}` creates one and shows it once, {UNLESS}",
                hint("serve")
            ),
        ),
    }
    Ok(())
}

fn no_project(problem: String, findings: &mut Findings) {
    findings.warn(
        problem,
        "choose one with --project (REFLECT_PROJECT_ID); the first run of a new one creates it",
    );
}

/// Says what queries do not show.
fn check_memories(project: &ProjectId, stats: &Stats, findings: &mut Findings) {
    let kinds = [
        ("quarantined", stats.quarantined),
        ("archived", stats.archived),
        ("merged", stats.merged),
        ("staged", stats.staged),
    ];
    let kinds: Vec<_> = kinds.iter().filter(|(_, count)| *count > 0).collect();
    let Some((first, _)) = kinds.first() else {
        return;
    };
    let counts: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| match *kind {
            "staged" => format!("{count} waiting for approval"),
            kind => format!("{count} {kind}"),
        })
        .collect();
    let id = quoted(project.as_str());
    let list = format!("memories list --status {first} --project {id}");
    findings.good(format!(
        "of {} in project `{project}`, {}: `{}` says why",
        output::counted(stats.memories, "memory"),
        counts.join(", "),
        hint(&list)
    ));
}

/// Says what is still to be learned.
fn check_queue(project: &ProjectId, stats: &Stats, findings: &mut Findings) {
    if stats.queued > 0 {
        findings.good(format!(
            "{} still to be learned in project `{project}`, which a server with this data does",
            output::counted_that(stats.queued, "review", "is", "are")
        ));
    }
}

async fn check_ingestion(
    file: &File,
    project: &ProjectId,
    stats: &Stats,
    findings: &mut Findings,
) -> reflect_engine::Result<()> {
    if stats.ingest_failed == 0 {
        return Ok(());
    }
    let retry = format!("traces retry ID --project {}", quoted(project.as_str()));
    let ids = failed_ids(file, project).await?.join(", ");
    findings.warn(
        format!("the ingestion of reviews failed in project `{project}`"),
        &format!("`{}` queues one again: {ids}", hint(&retry)),
    );
    Ok(())
}

/// Some of the traces whose ingestion failed.
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

fn check_permissions(place: &Place, findings: &mut Findings) {
    if let Some(path) = place.data.as_ref().and_then(Data::file)
        && permissions::is_shared(path)
    {
        findings.warn(
            "other users of this machine have access to the database",
            &format!("run `chmod 600 {}`", path.display()),
        );
    }
}

async fn check_server(place: &Place, findings: &mut Findings) {
    let key = match secret::read("--key", place.key.clone(), place.key_file.clone()) {
        Ok(Some(key)) => key,
        Ok(None) => {
            return findings.bad("no API key for the server", "set --key (REFLECT_API_KEY)");
        }
        Err(failure) => {
            return findings.bad(failure.to_string(), "set --key-file to a readable file");
        }
    };
    check_key_format(&key, findings);
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
                format!("the server does not respond: {error}"),
                "start it with `reflect serve`, or correct --url (REFLECT_BASE_URL)",
            );
        }
    }
    match client.list_traces().limit(1).await {
        Ok(page) => {
            if let Some(problem) = project::missing(&client, &page, "on the server").await {
                return no_project(problem, findings);
            }
            findings.good(format!("the key opens project `{}`", place.project()));
            match client.admin().project_stats().await {
                Ok(stats) => {
                    check_queue(client.project(), &stats, findings);
                    check_memories(client.project(), &stats, findings);
                }
                Err(error) => findings.bad(error.to_string(), "see the server's log"),
            }
        }
        Err(error) if error.status() == Some(401) => findings.bad(
            "the server rejects the key: it is unknown, revoked or expired",
            &format!(
                "create one where the server's data is, with `reflect keys create LABEL --all --data FILE \
                 --project {}`, and set --key (REFLECT_API_KEY)",
                quoted(client.project().as_str())
            ),
        ),
        // A key of another project and a key without the scope are both a 403.
        Err(error) if lacks_a_scope(&error) => findings.good(format!(
            "the key opens project `{}`, without the scope trace:read",
            place.project()
        )),
        Err(error) if error.status() == Some(403) => findings.bad(
            error.to_string(),
            "use a key of that project, or set the key's project with --project \
             (REFLECT_PROJECT_ID)",
        ),
        Err(error) => findings.bad(error.to_string(), "see the server's log"),
    }
}

fn lacks_a_scope(error: &reflect_sdk::Error) -> bool {
    error.status() == Some(403) && error.to_string().contains("scope")
}

fn check_key_format(key: &SecretString, findings: &mut Findings) {
    if KeyText::parse(key.expose_secret()).is_none() {
        findings.warn(
            "the key does not look like `rf_live_<public>_<secret>`",
            "check that it was copied completely, without quotes or spaces",
        );
    }
}
