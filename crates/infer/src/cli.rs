//! The subcommand: an Arrow IPC stream in, the machine as JSON out.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use longlook_support::failure::Failure;

use crate::{Log, Relation, document, infer_keeping, table, verify};

/// Its options.
#[derive(Args)]
pub struct Options {
    /// An Arrow IPC stream with the columns trace, `time_ns` and name; `-` for standard input
    log: PathBuf,
    /// Relations whose invariants are mined and kept
    #[arg(long, value_enum, value_delimiter = ',', num_args = 0.., default_values_t = Relation::ALL)]
    relations: Vec<Relation>,
    /// Write the machine here instead of to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Infers, proves and writes the machine.
///
/// # Errors
/// Exit code 2 if the log is none, 3 if a file cannot be written, 1 if the proof fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let log = read(&options.log)?;
    let machine = infer_keeping(&log, &options.relations).map_err(|error| Failure::usage(error.to_string()))?;
    let flaws = verify::flaws(&machine, &log);
    if let Some(flaw) = flaws.first() {
        let reason = format!("{} flaws in the machine, the first: {flaw:?}", flaws.len());
        return Err(Failure::new(reason).hint("this is an error of Longlook: report it with the log"));
    }
    write(&document::document(&machine), options.out.as_deref())
}

fn read(path: &Path) -> Result<Log, Failure> {
    let log = if path == Path::new("-") {
        table::read(BufReader::new(std::io::stdin().lock()))
    } else {
        let file = File::open(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        table::read(BufReader::new(file))
    };
    log.map_err(|reason| {
        Failure::usage(format!("{}: {reason}", path.display()))
            .hint(format!("hand over an Arrow IPC stream of {}", table::COLUMNS))
    })
}

fn write(document: &serde_json::Value, path: Option<&Path>) -> Result<(), Failure> {
    let text = format!("{document}\n");
    let done = match path {
        Some(path) => std::fs::write(path, text),
        None => std::io::stdout().lock().write_all(text.as_bytes()),
    };
    done.map_err(|error| {
        let place = path.map_or("standard output".into(), |path| path.display().to_string());
        Failure::machine(format!("{place} cannot be written: {error}"))
    })
}
