//! The command line that all programs have, and their end.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::job::Job;
use crate::lines::{ErrorLine, emit};
use crate::options::ServerOptions;

const USAGE: &str = "usage: PROGRAM server --protocol NAME --address IP --port N --www DIR --certificate PEM --key PEM \
                     [--knob NAME=VALUE]...\n       PROGRAM client JOB.json";

/// Run as a server or as a client, and report how that ended.
pub fn main(
    server: impl FnOnce(ServerOptions) -> Result<(), Failure>,
    client: impl FnOnce(Job) -> Result<(), Failure>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match arguments.first().map(String::as_str) {
        Some("server") => ServerOptions::parse(&arguments[1..]).and_then(server),
        Some("client") if arguments.len() == 2 => Job::read(&arguments[1]).and_then(client),
        _ => Err(Failure::Usage(USAGE.into())),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn report(failure: &Failure) {
    match failure {
        Failure::Reported => {}
        Failure::Unsupported(reason) => emit(&ErrorLine::new(reason, Some(false))),
        Failure::Usage(reason) | Failure::Failed(reason) => {
            eprintln!("{reason}");
            emit(&ErrorLine::new(reason, None));
        }
    }
}
