//! Keys, projects, export and import.

use std::sync::Arc;

use reflect_http::{ExposeSecret, SecretString};
use reflect_types::{
    Approval, Bootstrap, Bootstrapped, CreateApiKey, DeleteProject, Environment, ExportMemories,
    ExportOverview, ExportTraces, GetReport, GetSettings, GetStats, ImportProject, InvalidField,
    KeyId, ListApiKeys, ListProjects, ListUndos, MemoryId, Piece, Ranking, Reviewer, RevokeApiKey,
    Scope, TraceId, Undo, UpdateProject, Validate,
};

use super::call::{Action, Call, CallContext, options};
use super::handle::Handle;
use super::{Async, ReflectClient};
use crate::core::Worker;
use crate::error::Result;
use crate::transport::Http;

/// The administration of a project; see [`ReflectClient::admin`].
#[derive(Debug)]
pub struct Admin<M = Async>(ReflectClient<M>);

impl<M> ReflectClient<M> {
    /// Keys, statistics, export and import of the project.
    pub fn admin(&self) -> Admin<M> {
        Admin(self.clone())
    }
}

impl<M> Admin<M> {
    /// The project's keys, without their secrets.
    pub fn list_api_keys(&self) -> Call<ListApiKeys, M> {
        self.0.call(ListApiKeys)
    }

    /// Creates a key. Only the reply holds its text.
    pub fn create_api_key(&self, label: impl Into<String>) -> Call<CreateApiKey, M> {
        self.0.call(CreateApiKey::new(label))
    }

    /// Revokes a key.
    pub fn revoke_api_key(&self, key: impl Into<KeyId>) -> Call<RevokeApiKey, M> {
        self.0.call(RevokeApiKey::new(key))
    }

    /// The project in numbers.
    pub fn project_stats(&self) -> Call<GetStats, M> {
        self.0.call(GetStats)
    }

    /// The pass rates of the project, and whether memories help: the runs with memories compared with those
    /// of the [control arm](crate::ClientBuilder::control_share).
    pub fn report(&self) -> Call<GetReport, M> {
        self.0.call(GetReport::default())
    }

    /// The projects that the key opens: its own, or all with a master key. An embedded client opens all
    /// projects of its file.
    pub fn list_projects(&self) -> Call<ListProjects, M> {
        self.0.call(ListProjects)
    }

    /// Sets the largest `alpha` of a review in the project, from 0 to 1; `None` for no limit. A review
    /// with a larger one is refused from now on.
    pub fn set_max_alpha(&self, limit: impl Into<Option<f64>>) -> Call<UpdateProject, M> {
        self.update(|project| project.max_alpha = Some(limit.into()))
    }

    /// Sets the number of memories that the project keeps in answers; `None` for all. The least useful
    /// ones beyond it are archived by the next query.
    pub fn set_max_memories(&self, limit: impl Into<Option<u64>>) -> Call<UpdateProject, M> {
        self.update(|project| project.max_memories = Some(limit.into()))
    }

    /// Sets how the project's memories are ranked unless a query says otherwise; `None` for the server's
    /// choice.
    pub fn set_ranking(&self, ranking: impl Into<Option<Ranking>>) -> Call<UpdateProject, M> {
        self.update(|project| project.ranking = Some(ranking.into()))
    }

    /// Sets which memories wait for a person's approval from now on; `None` for none. Approve one with
    /// [`update_memory(…).restore()`](Call::restore).
    pub fn set_approval(&self, approve: impl Into<Option<Approval>>) -> Call<UpdateProject, M> {
        self.update(|project| project.approve = Some(approve.into()))
    }

    /// Sets the share of runs, from 0 to 1, that are given no memories, for comparison; `None` for none.
    /// Clients with [a share of their own](crate::ClientBuilder::control_share) keep it; others read this one at
    /// most once a minute.
    pub fn set_control(&self, share: impl Into<Option<f64>>) -> Call<UpdateProject, M> {
        self.update(|project| project.control = Some(share.into()))
    }

    /// Sets whether memories that are learned from now on keep values that identify a person or a case,
    /// instead of their role; `None` for the server's choice.
    pub fn set_keep_personal_values(
        &self,
        keep: impl Into<Option<bool>>,
    ) -> Call<UpdateProject, M> {
        self.update(|project| project.keep_personal_values = Some(keep.into()))
    }

    fn update(&self, change: impl FnOnce(&mut UpdateProject)) -> Call<UpdateProject, M> {
        let mut update = UpdateProject::default();
        change(&mut update);
        self.0.call(update)
    }

    /// The settings of the project.
    pub fn settings(&self) -> Call<GetSettings, M> {
        self.0.call(GetSettings)
    }

    /// Undoes the reviews of a key, a reviewer, a trace or a period, and changes to memories by that key
    /// or in that period. At least one condition must be set. Utilities, texts and statuses of memories
    /// become what they would be without them; deleted memories are not restored. An undo is final and
    /// recorded ([`list_undos`](Self::list_undos)): preview it with [`dry_run`](Call::dry_run) and
    /// export the project first.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    ///
    /// async fn clean_up(client: &ReflectClient, leaked: &str) -> reflect_sdk::Result<()> {
    ///     let admin = client.admin();
    ///     let plan = admin.undo().key(leaked).dry_run().await?;
    ///     println!("{} memories would be removed", plan.removed.len());
    ///     admin.undo().key(leaked).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn undo(&self) -> Call<Undo, M> {
        self.0.call(Undo::default())
    }

    /// The records of undos, newest first: who undid what, when, and how much it changed.
    pub fn list_undos(&self) -> Call<ListUndos, M> {
        self.0.call(ListUndos::default())
    }

    /// Removes the project with all its traces, memories and keys. It cannot be undone.
    pub fn delete_project(&self) -> Call<DeleteProject, M> {
        self.0.call(DeleteProject)
    }

    /// The project's totals and skill.
    pub fn export_overview(&self) -> Call<ExportOverview, M> {
        self.0.call(ExportOverview)
    }

    /// A page of memories in the order they were learned.
    pub fn export_memories(&self) -> Call<ExportMemories, M> {
        self.0.call(ExportMemories::default())
    }

    /// A page of traces in the order they were stored.
    pub fn export_traces(&self) -> Call<ExportTraces, M> {
        self.0.call(ExportTraces::default())
    }

    /// Stores parts of an export under their ids, memories before traces: all of them, or none.
    pub fn import_project(&self, pieces: Vec<Piece>) -> Call<ImportProject, M> {
        self.0.call(ImportProject { pieces })
    }
}

options! { GetReport, get:
    /// Only runs stored at this time or later, in RFC 3339.
    since(time: impl Into<String>) => get.since = Some(time.into());

    /// Only runs stored before this time, in RFC 3339.
    until(time: impl Into<String>) => get.until = Some(time.into());

    /// Groups the runs by `model`, `month`, `day` or `metadata.KEY`.
    by(group: impl Into<String>) => get.by = Some(group.into());
}

options! { CreateApiKey, key:
    /// The key's scopes.
    scopes(scopes: impl IntoIterator<Item = Scope>) => key.scopes = scopes.into_iter().collect();

    /// Live or test; live by default.
    environment(environment: Environment) => key.environment = environment;

    /// When the key expires, in RFC 3339, such as `2027-01-31T00:00:00Z`; never by default.
    expires_at(time: impl Into<String>) => key.expires_at = Some(time.into());

    /// The largest `alpha` of a review with the key, from 0 to 1; any by default.
    max_alpha(alpha: f64) => key.max_alpha = Some(alpha);
}

options! { Undo, undo:
    /// The [`digest`](reflect_types::UndoReport::digest) of a dry run. If the undo would no longer make
    /// the same changes, it makes none and fails with a conflict.
    expect(digest: impl Into<String>) => undo.expect = Some(digest.into());

    /// Undoes reviews and changes by this API key.
    key(key: impl Into<KeyId>) => undo.key_id = Some(key.into());

    /// Undoes reviews by this reviewer.
    reviewer(reviewer: Reviewer) => undo.reviewer = Some(reviewer);

    /// Undoes the reviews of this trace, which may have been deleted since.
    trace(trace: impl Into<TraceId>) => undo.trace_id = Some(trace.into());

    /// Undoes reviews and changes made at this time or later, in RFC 3339.
    since(time: impl Into<String>) => undo.since = Some(time.into());

    /// Undoes reviews and changes made before this time, in RFC 3339.
    until(time: impl Into<String>) => undo.until = Some(time.into());

    /// Reports what would change, and changes nothing.
    dry_run() => undo.dry_run = true;
}

options! { ListUndos, list:
    /// The maximum number of records, from 1 to 1,000; 100 by default.
    limit(limit: u32) => list.limit = Some(limit);

    /// Only records older than this one: the last of the previous page.
    before(id: impl Into<String>) => list.before = Some(id.into());
}

options! { ExportMemories, page:
    /// The maximum number of memories, from 1 to 200; 200 by default.
    limit(limit: u32) => page.limit = Some(limit);

    /// Only memories after this one: the last of the previous page.
    after(memory: impl Into<MemoryId>) => page.after = Some(memory.into());
}

options! { ExportTraces, page:
    /// The maximum number of traces, from 1 to 200; 200 by default.
    limit(limit: u32) => page.limit = Some(limit);

    /// Only traces after this one: the last of the previous page.
    after(trace: impl Into<TraceId>) => page.after = Some(trace.into());
}

/// Creates the first key of a project, with the bootstrap token of the server.
///
/// ```no_run
/// use reflect_sdk::ReflectClient;
/// use reflect_sdk::admin::bootstrap;
/// use reflect_sdk::types::Bootstrap;
///
/// async fn first_client(url: &str, token: &str) -> reflect_sdk::Result<ReflectClient> {
///     let created = bootstrap(url, token, Bootstrap::new("ada", "support"))?.await?;
///     ReflectClient::builder().project(created.project_id).http(url, created.api_key)
/// }
/// ```
pub fn bootstrap(
    base_url: impl AsRef<str>,
    token: impl Into<String>,
    request: Bootstrap,
) -> Result<Call<BootstrapProject>> {
    let builder = ReflectClient::builder().project(&request.project_id);
    let http = Http::new(base_url.as_ref(), None, builder.timeouts())?;
    let core = builder.core(Arc::new(http.clone()), Worker::default())?;
    let token = SecretString::from(token.into());
    Ok(Call::new(
        Arc::new(Handle::new(core)),
        BootstrapProject {
            http,
            token,
            request,
        },
    ))
}

/// Creates the first key of a project; see [`bootstrap`].
#[derive(Clone, Debug)]
pub struct BootstrapProject {
    http: Http,
    token: SecretString,
    request: Bootstrap,
}

impl Action for BootstrapProject {
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
        core.call_once(|| self.http.bootstrap(&self.token, &self.request))
            .await
    }
}
