//! The Model Context Protocol on standard input and output, for the host that starts the program.

mod bank;
mod config;

use std::sync::Arc;

use clap::Args;
use reflect_server::mcp::serve_stdio;

use self::bank::ClientBank;
use self::config::Host;
use crate::failure::Failure;
use crate::place::Place;
use crate::signals::Signalled;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print what to paste into the configuration of a host, with the other options of this command.
    #[arg(long, value_name = "HOST")]
    print_config: Option<Host>,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options {
        place,
        print_config,
    } = options;
    if let Some(host) = print_config {
        return config::print(host, &place);
    }
    let signals = Signalled::listen()?;
    let (client, file) = place.client_of_service().await?;
    tracing::info!(project = %place.project(), "MCP on standard input and output");
    let served = tokio::select! {
        served = serve_stdio(Arc::new(ClientBank(client))) => served,
        () = signals.times(1) => Ok(()),
    };
    if let Some(file) = file {
        file.engine.shutdown().await?;
    }
    Ok(served?)
}
