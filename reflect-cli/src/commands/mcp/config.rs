//! What a host's configuration says to start `reflect mcp`.

use std::path::{Path, absolute};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::data::Data;
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

/// A program that starts MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Host {
    /// Claude Desktop and Claude Code.
    Claude,
    Cursor,
    Vscode,
}

impl Host {
    /// Where the host reads it.
    fn file(self) -> &'static str {
        match self {
            Self::Claude => {
                "claude_desktop_config.json (Claude Desktop: Settings, Developer, Edit Config) or \
                 .mcp.json of a repository (Claude Code)"
            }
            Self::Cursor => "~/.cursor/mcp.json, or .cursor/mcp.json of a repository",
            Self::Vscode => ".vscode/mcp.json of a repository",
        }
    }

    /// The value of a variable with a secret, which the configuration does not contain.
    fn secret(self, variable: &str) -> String {
        match self {
            Self::Claude => "PASTE IT HERE".to_owned(),
            Self::Cursor => format!("${{env:{variable}}}"),
            Self::Vscode => format!("${{input:{variable}}}"),
        }
    }
}

/// Prints the configuration. Standard output has only what is pasted.
pub(super) fn print(host: Host, place: &Place) -> Result<(), Failure> {
    let program = std::env::current_exe()?;
    let config = config(host, &program, place)?;
    output::json(&config)?;
    eprintln!("paste this into {}", host.file());
    Ok(())
}

fn config(host: Host, program: &Path, place: &Place) -> Result<Value, Failure> {
    let mut arguments = vec!["mcp".to_owned()];
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    let mut secret = None;
    if place.is_file()? {
        match &place.data {
            Some(Data::File(path)) => option("--data", whole(path)?),
            _ => secret = Some("REFLECT_DATA"),
        }
    } else if let Some(url) = &place.url {
        option("--url", url.clone());
        match &place.key_file {
            Some(file) => option("--key-file", whole(file)?),
            None => secret = Some("REFLECT_API_KEY"),
        }
    } else {
        return Err(Failure::usage(
            "no file and no server given: use --data FILE, or --url URL with --key-file FILE",
        ));
    }
    if let Some(project) = &place.project {
        option("--project", project.clone());
    }
    let mut server = Map::new();
    if host == Host::Vscode {
        server.insert("type".to_owned(), json!("stdio"));
    }
    server.insert("command".to_owned(), json!(program));
    server.insert("args".to_owned(), json!(arguments));
    if let Some(variable) = secret {
        server.insert("env".to_owned(), json!({ variable: host.secret(variable) }));
    }
    let servers = json!({ "reflect": server });
    Ok(match (host, secret) {
        (Host::Vscode, Some(variable)) => json!({
            "inputs": [{
                "type": "promptString", "id": variable, "description": variable, "password": true
            }],
            "servers": servers,
        }),
        (Host::Vscode, None) => json!({ "servers": servers }),
        (Host::Claude | Host::Cursor, _) => json!({ "mcpServers": servers }),
    })
}

/// The path as the host can use it from any folder.
fn whole(path: &Path) -> Result<String, Failure> {
    let path = absolute(path)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{}: the path is not UTF-8", path.display())))
}
