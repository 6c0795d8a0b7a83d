use clap::{Args, Subcommand};
use jiff::Timestamp;
use reflect_server::keys::{KeyText, has_expired};
use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, Environment, KeyId, KeyStatus, ProjectSummary, Scope,
};

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
                // A server of another version may have no list.
                let others = client.admin().list_projects().await.unwrap_or_default();
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
    let rows: Vec<_> = keys
        .iter()
        .map(|key| {
            let scopes: Vec<&str> = key.scopes.iter().map(Scope::as_str).collect();
            let every = scopes.len() == Scope::KNOWN.len();
            [
                key.id.to_string(),
                format!("rf_{}_{}_…", key.environment, key.public_id),
                if key.status == KeyStatus::Active && has_expired(key) {
                    "expired".to_owned()
                } else {
                    key.status.to_string()
                },
                or_never(key.last_used_at.as_ref()),
                or_never(key.expires_at.as_ref()),
                key.max_alpha
                    .map_or_else(|| "any".to_owned(), |alpha| alpha.to_string()),
                output::line(&key.label, 30),
                key.created_by
                    .as_ref()
                    .map_or_else(String::new, ToString::to_string),
                if every {
                    "all".to_owned()
                } else {
                    scopes.join(" ")
                },
            ]
        })
        .collect();
    output::table(
        [
            "ID",
            "KEY",
            "STATUS",
            "LAST USED",
            "EXPIRES",
            "MAX ALPHA",
            "LABEL",
            "CREATED BY",
            "SCOPES",
        ],
        &rows,
    )
}

fn or_never(time: Option<&String>) -> String {
    time.map_or("never", String::as_str).to_owned()
}
