//! The keeper: it makes the box around itself, starts the kernel in it, and waits for the kernel's end.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, Gid, Uid, chdir, execv, fork};

use crate::fence::{self, Places};
use crate::layers::{Layers, Plan, Refused};
use crate::options::Options;
use crate::{filter, privileges, resources, sys, view};

/// How the keeper's lines to the launcher begin.
pub const READY: &str = "ready ";
pub const REFUSED: &str = "refused ";
pub const NOT_STARTED: &str = "not started ";
pub const ENDED: &str = "ended ";

/// What the launcher hands to the keeper.
pub struct Start {
    pub plan: Plan,
    /// Where the keeper reports to.
    pub report: OwnedFd,
    /// A pipe whose other end the launcher holds: it closes when the launcher dies.
    pub launcher: OwnedFd,
    pub caller: (Uid, Gid),
}

/// The keeper's whole life.
pub fn run(options: &Options, start: Start) -> ! {
    let Start { plan, report, launcher, caller } = start;
    let mut report = File::from(report);
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        sys::on_signal(signal, libc::SIG_IGN); // the launcher decides
    }
    let mut layers = Layers::default();
    let made = enter(options, plan, caller, &mut layers).and_then(|()| outlive_nobody(&launcher));
    if let Err(Refused(reason)) = made {
        say(&mut report, REFUSED, &reason);
        sys::exit(1);
    }
    say(&mut report, READY, &layers.to_json().to_string());
    match start_kernel(options, plan, &mut report) {
        Ok(status) => say(&mut report, ENDED, &status.to_string()),
        Err(reason) => say(&mut report, NOT_STARTED, &reason),
    }
    sys::exit(0)
}

/// Makes the box. What it lacks is in `layers`; what it cannot be without is an error.
fn enter(options: &Options, plan: Plan, caller: (Uid, Gid), layers: &mut Layers) -> Result<(), Refused> {
    umask(Mode::from_bits_truncate(0o022));
    resources::join(&options.cgroups, layers);
    match plan {
        Plan::UserNamespace => privileges::map_user(options.user, caller)?,
        Plan::Root if !caller.0.is_root() => return Err(Refused("another user: only root can become one".into())),
        Plan::Root => {
            view::hand_over(options).map_err(|error| Refused::new("another user, the exchange folder", error))?;
        }
        Plan::Bare => {}
    }
    if plan == Plan::Bare {
        for layer in ["mounts", "processes", "network"] {
            layers.lack(layer, "no namespaces can be made here");
        }
        chdir(&options.exchange).map_err(|error| Refused::new("the exchange folder", error))?;
    } else {
        view::enter(options)?;
        layers.set("mounts", format!("{} of the host's paths, read-only", options.views.len()));
        layers.set("processes", "a namespace of its own");
        layers.set("network", "a namespace of its own, without a device");
    }
    resources::limit(options, layers);
    privileges::give_up(options, plan, layers)?;
    fence::enclose(&places(options, plan), layers);
    let kept_from_files = ["user", "mounts", "landlock"].iter().any(|layer| layers.has(layer));
    if !kept_from_files && !options.trust {
        return Err(Refused("nothing here keeps a program that leaves its guest from your files".into()));
    }
    filter::apply(layers);
    umask(Mode::from_bits_truncate(0o077));
    Ok(())
}

/// Ends with the launcher from here on. A change of user would undo this, so it comes last.
fn outlive_nobody(launcher: &OwnedFd) -> Result<(), Refused> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0)
        .map_err(|error| Refused::new("death signal", error))?;
    let mut pipe = [PollFd::new(launcher.as_fd(), PollFlags::empty())];
    match poll(&mut pipe, PollTimeout::ZERO) {
        Ok(0) => Ok(()),
        _ => sys::exit(1), // it died before the line above; nobody is left to report to
    }
}

fn places(options: &Options, plan: Plan) -> Places<'_> {
    let null = Path::new(view::NULL);
    if plan == Plan::Bare {
        let own = |name: &str| PathBuf::from(name);
        let read = options.views.iter().cloned().chain([own("/proc/cpuinfo"), own("/proc/self")]).collect();
        Places { read, null, exchange: &options.exchange, memory: memory_folder(options) }
    } else {
        Places { read: vec!["/".into()], null, exchange: Path::new(view::EXCHANGE), memory: Path::new(view::MEMORY) }
    }
}

fn memory_folder(options: &Options) -> &Path {
    options.memory_folder.as_deref().unwrap_or(Path::new(view::MEMORY))
}

/// Starts the kernel and returns its status, once it has ended.
fn start_kernel(options: &Options, plan: Plan, report: &mut File) -> Result<libc::c_int, String> {
    let arguments: Vec<CString> = options
        .command
        .iter()
        .map(|argument| CString::new(argument.as_bytes()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    // SAFETY: the keeper has one thread.
    let kernel = match unsafe { fork() }.map_err(|error| error.to_string())? {
        ForkResult::Parent { child } => child.as_raw(),
        ForkResult::Child => {
            let reason = execute(options, plan, &arguments);
            say(report, NOT_STARTED, &reason);
            sys::exit(127)
        }
    };
    sys::set_ward(kernel);
    sys::on_signal(libc::SIGUSR2, sys::pass_on as *const () as libc::sighandler_t);
    loop {
        match sys::wait(-1) {
            Ok((ended, status)) if ended == kernel => return Ok(status),
            Ok(_) => {} // an orphan of the kernel's
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Becomes the kernel; returns why it could not.
fn execute(options: &Options, plan: Plan, arguments: &[CString]) -> String {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR2, libc::SIGPIPE] {
        sys::on_signal(signal, libc::SIG_DFL);
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    if plan == Plan::Bare {
        let _ = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0);
    }
    sys::fix_addresses();
    let memory = if plan == Plan::Bare { memory_folder(options) } else { Path::new(view::MEMORY) };
    // SAFETY: this process has one thread.
    unsafe {
        std::env::set_var("TMPDIR", memory);
        std::env::set_var("HOME", memory); // the kernel leaves a socket and its pid there
    }
    match execv(&arguments[0], arguments) {
        Ok(never) => match never {},
        Err(error) => format!("{}: {error}", arguments[0].to_string_lossy()),
    }
}

fn say(report: &mut File, kind: &str, text: &str) {
    // A launcher that takes no report is gone, and this process with it.
    let _ = report.write_all(format!("{kind}{}\n", text.replace('\n', " ")).as_bytes());
}
