//! The subcommands `decode` and `unpack`.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use longlook_support::failure::Failure;

use crate::decode::{Task, decode};
use crate::event::Vantage;
use crate::packing;

/// Its options.
#[derive(Args)]
pub struct Options {
    /// The trace, also packed with gzip or zstd
    input: PathBuf,
    /// The table of events to write (Parquet)
    #[arg(long)]
    out: PathBuf,
    /// Where the trace was written, for traces that do not name it
    #[arg(long)]
    vantage: Option<End>,
    /// Of a netlog: write the events of its requests here, as lines of JSON
    #[arg(long)]
    requests: Option<PathBuf>,
    /// Of a capture: the secrets of its TLS, which SSLKEYLOGFILE wrote
    #[arg(long)]
    keys: Option<PathBuf>,
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
        requests: options.requests.clone(),
        vantage: match options.vantage {
            Some(End::Client) => Vantage::Client,
            Some(End::Server) => Vantage::Server,
            None => Vantage::Unknown,
        },
        keys: options.keys.clone(),
        limit_bytes: options.limit_bytes.unwrap_or(u64::MAX),
    })?;
    let account = serde_json::to_value(account).map_err(|error| Failure::new(error.to_string()))?;
    longlook_support::failure::print_line(&serde_json::json!({"event": "decoded", "account": account}))
}

/// Options of `unpack`.
#[derive(Args)]
pub struct UnpackOptions {
    /// The file, packed with gzip or zstd or not at all
    input: PathBuf,
    /// The file to write
    #[arg(long)]
    out: PathBuf,
    /// The longest that it may be when it is unpacked
    #[arg(long)]
    limit_bytes: u64,
}

/// Writes a file as it is when unpacked, and prints how long that is.
pub fn unpack(options: &UnpackOptions) -> Result<(), Failure> {
    let UnpackOptions { input, out, limit_bytes } = options;
    let refuse = |error: io::Error| {
        let hint = "the file is damaged or cut: fetch it again, or unpack it yourself";
        Failure::usage(format!("{} cannot be unpacked: {error}", input.display())).hint(hint)
    };
    let full = |error: io::Error| Failure::machine(format!("{} cannot be written: {error}", out.display()));
    let mut packed = packing::open(input)?.take(limit_bytes.saturating_add(1));
    let mut file = File::create(out).map_err(full)?;
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let count = packed.read(&mut buffer).map_err(refuse)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        if bytes > *limit_bytes {
            let reason = format!("{} is over {limit_bytes} bytes long when it is unpacked", input.display());
            return Err(Failure::usage(reason).hint("hand over less: a part of it, or one recording alone"));
        }
        io::Write::write_all(&mut file, &buffer[..count]).map_err(full)?;
    }
    longlook_support::failure::print_line(&serde_json::json!({"event": "unpacked", "bytes": bytes}))
}
