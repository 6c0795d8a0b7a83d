use clap::{Args, Subcommand};
use reflect_types::{ApiKey, CreatedApiKey, Environment, KeyId, Scope};

use super::failure::Failure;
use super::output;
use super::place::Place;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The project's keys (what happens when nothing is said).
    List {
        /// The master keys instead. Works on a file.
        #[arg(long)]
        master: bool,
    },
    /// Make a key. It is shown this once.
    Create {
        /// What the key is for.
        label: String,
        /// What it may do, such as `memory:read`; may be given several times.
        #[arg(long = "scope", value_parser = scope, value_delimiter = ',')]
        scopes: Vec<Scope>,
        /// Let it do everything in the project.
        #[arg(long, conflicts_with = "scopes")]
        all: bool,
        /// Make it a test key.
        #[arg(long)]
        test: bool,
        /// Make it a master key, which opens every project. Works on a file.
        #[arg(long, conflicts_with_all = ["scopes", "all", "test"])]
        master: bool,
    },
    /// End a key.
    Revoke {
        /// The key's id.
        id: String,
        /// It is a master key. Works on a file.
        #[arg(long)]
        master: bool,
    },
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    match action.unwrap_or(Action::List { master: false }) {
        Action::List { master } => {
            let keys = if master {
                place.file_of_masters().await?.keys.list(None).await?
            } else {
                place.client().await?.admin().list_api_keys().await?
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
            master,
        } => {
            let scopes = if all { Scope::KNOWN.to_vec() } else { scopes };
            if scopes.is_empty() && !master {
                return Err(Failure::usage(
                    "say what the key may do: --scope memory:read --scope trace:write, or --all",
                ));
            }
            let made = if master {
                place
                    .file_of_masters()
                    .await?
                    .keys
                    .create_master(&label)
                    .await?
            } else {
                let environment = if test {
                    Environment::Test
                } else {
                    Environment::Live
                };
                let client = place.client().await?;
                client
                    .admin()
                    .create_api_key(label)
                    .scopes(scopes)
                    .environment(environment)
                    .await?
            };
            shown(&place, &made)
        }
        Action::Revoke { id, master } => {
            let key = if master {
                place
                    .file_of_masters()
                    .await?
                    .keys
                    .revoke(None, &KeyId::new(id))
                    .await?
            } else {
                place.client().await?.admin().revoke_api_key(id).await?
            };
            if place.json {
                return output::json(&key);
            }
            let label = output::line(&key.label, 100);
            output::say(format_args!("{label} is {}", key.status))
        }
    }
}

fn shown(place: &Place, made: &CreatedApiKey) -> Result<(), Failure> {
    if place.json {
        return output::json(made);
    }
    let text = &made.api_key;
    output::say(format_args!(
        "This key is shown this once, so keep it:\n\n    {text}\n"
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
                key.status.to_string(),
                key.last_used_at
                    .clone()
                    .unwrap_or_else(|| "never".to_owned()),
                output::line(&key.label, 30),
                if every {
                    "all".to_owned()
                } else {
                    scopes.join(" ")
                },
            ]
        })
        .collect();
    output::table(
        ["ID", "KEY", "STATUS", "LAST USED", "LABEL", "SCOPES"],
        &rows,
    )
}

fn scope(text: &str) -> Result<Scope, String> {
    let scope = Scope::from(text);
    if scope.is_known() {
        return Ok(scope);
    }
    let known: Vec<&str> = Scope::KNOWN.iter().map(Scope::as_str).collect();
    Err(format!("is none of {}", known.join(", ")))
}
