//! The subcommand.

use clap::Args;
use failure::Failure;

/// Its options.
#[derive(Args)]
pub struct Options {}

/// Does the job.
pub fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::new("not built yet"))
}
