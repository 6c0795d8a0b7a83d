use clap::{Args, Subcommand};
use jiff::Timestamp;
use reflect_server::keys::{KeyText, has_expired};
use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, Environment, KeyId, KeyStatus, ProjectSummary, Scope,
};

use crate::command_line::hint;
use crate::commands::expiry;
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the project's keys (the default).
    List {
        /// List the master keys instead. Needs --data.
        #[arg(long)]
        master: bool,
    },
    /// Create a key. Its secret is shown only once.
    Create {
        /// A label for the key.
        label: String,
        /// A scope of the key, such as `memory:read`; may be repeated.
        #[arg(long = "scope", value_parser = Scope::parse_known, value_delimiter = ',')]
        scopes: Vec<Scope>,
        /// Grant every scope in the project.
        #[arg(long, conflicts_with = "scopes")]
        all: bool,
        /// Create a test key.
        #[arg(long)]
        test: bool,
        /// When the key expires: after a time such as `90d` or `12h`, or at the beginning of a day
        /// (UTC) such as `2027-01-31`.
        #[arg(long, value_parser = expiry::parse, value_name = "TIME")]
        expires: Option<Timestamp>,
        /// The largest `alpha` of a review with the key, from 0 to 1.
        #[arg(long, value_name = "ALPHA")]
        max_alpha: Option<f64>,
        /// Create a master key, which opens every project. Needs --data.
        #[arg(long, conflicts_with_all = ["scopes", "all", "test"])]
        master: bool,
    },
    /// Print a new random secret, for `serve --master-key-file` or `--bootstrap-token-file`. Nothing is
    /// stored.
    Generate,
    /// Revoke a key.
    Revoke {
        /// The key's id.
        id: String,
        /// The key is a master key. Needs --data.
        #[arg(long)]
        master: bool,
    },
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    match action.unwrap_or(Action::List { master: false }) {
        Action::List { master } => {
            let keys = if master {
                match place.master_key_file().await?.existing_keys().await? {
                    Some(keys) => keys.list(None).await?,
                    None => Vec::new(),
                }
            } else {
                place.client_of_any().await?.admin().list_api_keys().await?
            };
            if place.json {
                output::json(&keys)
            } else {
                table(&keys)
            }
        }
        Action::Create {
            label,
            scopes,
            all,
            test,
            expires,
            max_alpha,
            master,
        } => {
            let scopes = if all { Scope::KNOWN.to_vec() } else { scopes };
            if scopes.is_empty() && !master {
                return Err(Failure::usage(
                    "a key needs scopes: use --scope memory:read --scope trace:write, or --all",
                ));
            }
            let create = CreateApiKey {
                scopes,
                environment: if test {
                    Environment::Test
                } else {
                    Environment::Live
                },
                expires_at: expires.map(|at| at.to_string()),
                max_alpha,
                ..CreateApiKey::new(label)
            };
            let created = if master {
                let keys = place.master_key_file().await?.keys().await?;
                keys.create_master(create).await?
            } else {
                let client = place.client_of_any().await?;
                let others = client.admin().list_projects().await?;
                let created = client.request(create).await?;
                let is_own = |other: &ProjectSummary| other.project_id == *client.project();
                // The first one is meant.
                if !others.is_empty() && !others.iter().any(is_own) {
                    eprintln!("project `{}` is new", output::id(client.project().as_str()));
                }
                created
            };
            show_created(&place, &created)
        }
        Action::Generate => {
            let generated = KeyText::generate(Environment::Live)
                .map_err(|error| Failure::general(format!("no random numbers: {error}")))?;
            output::say(format_args!("{}", generated.reveal()))
        }
        Action::Revoke { id, master } => {
            let key = if master {
                let keys = place.master_key_file().await?.keys().await?;
                keys.revoke(None, &KeyId::new(id)).await?
            } else {
                place
                    .client_of_any()
                    .await?
                    .admin()
                    .revoke_api_key(id)
                    .await?
            };
            if place.json {
                return output::json(&key);
            }
            let label = output::line(&key.label, 100);
            output::say(format_args!("{label} is {}", key.status))
        }
    }
}

fn show_created(place: &Place, created: &CreatedApiKey) -> Result<(), Failure> {
    if place.json {
        return output::json(created);
    }
    let text = &created.api_key;
    let opens = if created.key.is_master {
        "all projects".to_owned()
    } else {
        format!("project `{}`", place.project())
    };
    output::say(format_args!(
        "Keep this key, it is shown only once:\n\n    {text}\n\nIt opens {opens}. Its id is {}.",
        created.key.id
    ))
}

fn table(keys: &[ApiKey]) -> Result<(), Failure> {
    if keys.is_empty() {
        let create = hint("keys create LABEL --all");
        eprintln!("there is no key: `{create}` creates one");
        return Ok(());
    }
    let status = |key: &ApiKey| match key.status {
        KeyStatus::Active if has_expired(key) => "expired".to_owned(),
        _ => key.status.to_string(),
    };
    let scopes = |key: &ApiKey| {
        let scopes: Vec<&str> = key.scopes.iter().map(Scope::as_str).collect();
        match scopes.len() {
            every if every == Scope::KNOWN.len() => "all".to_owned(),
            _ => scopes.join(" "),
        }
    };
    let max_alpha = |key: &ApiKey| {
        key.max_alpha
            .map_or("any".to_owned(), |most| most.to_string())
    };
    output::table(
        keys,
        &[
            ("ID", &|key| key.id.to_string()),
            ("KEY", &|key| {
                format!("rf_{}_{}_…", key.environment, key.public_id)
            }),
            ("STATUS", &status),
            ("LAST USED", &|key| or_never(key.last_used_at.as_ref())),
            ("EXPIRES", &|key| or_never(key.expires_at.as_ref())),
            ("MAX ALPHA", &max_alpha),
            ("LABEL", &|key| output::line(&key.label, 30)),
            ("CREATED BY", &|key| {
                output::or_nothing(key.created_by.as_ref())
            }),
            ("SCOPES", &scopes),
        ],
    )
}

fn or_never(time: Option<&String>) -> String {
    time.map_or("never", String::as_str).to_owned()
}
