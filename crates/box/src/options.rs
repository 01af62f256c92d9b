//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

/// What goes into the box, and how much it may take.
#[derive(Parser)]
#[command(version, about = "Runs a guest's kernel as nobody, in namespaces and with a view of the host of its own")]
pub struct Options {
    /// The user and group of the box
    #[arg(long)]
    pub user: u32,
    /// The folder in which the kernel works, the only one of the host that it can write to
    #[arg(long)]
    pub exchange: PathBuf,
    /// A file or folder of the host that is seen in the box, read-only
    #[arg(long = "view", value_name = "PATH")]
    pub views: Vec<PathBuf>,
    /// The size of the guest's memory
    #[arg(long)]
    pub memory_bytes: u64,
    /// The folder for the guest's memory where the box cannot have one of its own
    #[arg(long)]
    pub memory_folder: Option<PathBuf>,
    /// How many processes and threads the box may have
    #[arg(long)]
    pub tasks: u64,
    /// A control group that the box joins
    #[arg(long = "cgroup", value_name = "FOLDER")]
    pub cgroups: Vec<PathBuf>,
    /// The descriptor to which one line of JSON goes: the layers of the box, or why there is none
    #[arg(long)]
    pub report_fd: i32,
    /// Run the kernel even if nothing keeps it from the host's files
    #[arg(long)]
    pub trust: bool,
    /// The kernel and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}
