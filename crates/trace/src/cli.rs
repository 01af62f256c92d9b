//! The subcommand `decode`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use longlook_support::failure::Failure;

use crate::decode::{Task, decode};
use crate::event::Vantage;

/// Its options.
#[derive(Args)]
pub struct Options {
    /// The trace, also packed with gzip
    input: PathBuf,
    /// The table of events to write (Parquet)
    #[arg(long)]
    out: PathBuf,
    /// Where the trace was written, for traces that do not name it
    #[arg(long)]
    vantage: Option<End>,
    /// Read no more than this of the unpacked trace
    #[arg(long)]
    limit_bytes: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum End {
    Client,
    Server,
}

/// Decodes the trace and prints its account in one line.
pub fn run(options: &Options) -> Result<(), Failure> {
    let account = decode(&Task {
        input: options.input.clone(),
        output: options.out.clone(),
        vantage: match options.vantage {
            Some(End::Client) => Vantage::Client,
            Some(End::Server) => Vantage::Server,
            None => Vantage::Unknown,
        },
        limit_bytes: options.limit_bytes.unwrap_or(u64::MAX),
    })?;
    let account = serde_json::to_value(account).map_err(|error| Failure::new(error.to_string()))?;
    longlook_support::failure::print_line(&serde_json::json!({"event": "decoded", "account": account}))
}
