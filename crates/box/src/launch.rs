//! The launcher: it starts the keeper, tells its caller what the box is made of, and ends as the kernel ends.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use longlook_support::failure::{Failure, end};
use nix::unistd::{pipe2, setsid};
use serde_json::{Value, json};

use crate::keep::{ENDED, NOT_STARTED, READY, REFUSED, Start};
use crate::layers::Plan;
use crate::options::Options;
use crate::{keep, privileges, sys};

/// How the keeper began: with a box, or with the reason why there is none.
enum Begun {
    Box { keeper: i32, report: BufReader<File>, layers: Value },
    Refused(String),
}

/// Runs the kernel in the best box that this machine allows; does not return where a kernel was started.
pub fn run(options: &Options) -> ExitCode {
    match attempt(options) {
        Ok(code) => code,
        Err(failure) => end("longlook-box", Err(failure)),
    }
}

fn attempt(options: &Options) -> Result<ExitCode, Failure> {
    let mut caller =
        File::from(sys::inherited(options.report_fd).map_err(|error| Failure::usage(format!("--report-fd: {error}")))?);
    let _ = setsid(); // away from the terminal; a leader of a session has one of its own already
    let _ = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0);
    let ending = sys::end_ward as *const () as libc::sighandler_t;
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        sys::on_signal(signal, ending);
    }
    let mut refusals = serde_json::Map::new();
    for plan in Plan::ALL {
        match begin(options, plan)? {
            Begun::Refused(reason) => {
                refusals.insert(format!("{plan:?}"), Value::String(reason));
            }
            Begun::Box { keeper, report, mut layers } => {
                layers["refused"] = Value::Object(refusals);
                // The caller's end of this pipe closes with the caller: then the kernel must not run either.
                if let Err(error) = tell(&mut caller, &layers) {
                    sys::end_ward(0);
                    let _ = sys::wait(keeper);
                    return Err(Failure::new(format!("nobody is left to report to: {error}")));
                }
                return supervise(keeper, report, &mut caller);
            }
        }
    }
    let _ = tell(&mut caller, &json!({"refused": refusals}));
    Ok(ExitCode::from(3))
}

fn begin(options: &Options, plan: Plan) -> Result<Begun, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::machine(error.to_string());
    let (report, keepers_report) = pipe().map_err(|error| failure(&error))?;
    let (launcher, alive) = pipe().map_err(|error| failure(&error))?;
    let caller = privileges::caller();
    let keeper = match sys::clone(plan.namespaces()) {
        Ok(0) => {
            drop((report, alive));
            keep::run(options, Start { plan, report: keepers_report, launcher, caller })
        }
        Ok(pid) => pid,
        Err(error) => return Ok(Begun::Refused(format!("namespaces: {error}"))),
    };
    sys::set_ward(keeper);
    std::mem::forget(alive); // it closes when this process ends
    drop(keepers_report);
    let mut report = BufReader::new(File::from(report));
    let mut line = String::new();
    report.read_line(&mut line).map_err(|error| failure(&error))?;
    let line = line.trim_end();
    if let Some(text) = line.strip_prefix(READY) {
        let layers = serde_json::from_str(text).map_err(|error| failure(&error))?;
        return Ok(Begun::Box { keeper, report, layers });
    }
    sys::set_ward(0);
    let (_, status) = sys::wait(keeper).map_err(|error| failure(&error))?;
    let unsaid = format!("the keeper ended with status {status}");
    Ok(Begun::Refused(line.strip_prefix(REFUSED).map_or(unsaid, str::to_string)))
}

/// Waits for the end of the kernel and ends in the same way.
fn supervise(keeper: i32, report: BufReader<File>, caller: &mut File) -> Result<ExitCode, Failure> {
    sys::on_signal(libc::SIGUSR2, sys::pass_on as *const () as libc::sighandler_t);
    let (_, keepers) = sys::wait(keeper).map_err(|error| Failure::new(error.to_string()))?;
    sys::set_ward(0);
    let mut status = keepers;
    for line in report.lines().map_while(Result::ok) {
        if let Some(reason) = line.strip_prefix(NOT_STARTED) {
            let _ = tell(caller, &json!({"not_started": reason}));
        } else if let Some(text) = line.strip_prefix(ENDED) {
            status = text.parse().unwrap_or(keepers);
        }
    }
    sys::end_as(status)
}

/// Writes a line to the caller at once.
fn tell(caller: &mut File, line: &Value) -> std::io::Result<()> {
    caller.write_all(format!("{line}\n").as_bytes())
}

fn pipe() -> nix::Result<(OwnedFd, OwnedFd)> {
    pipe2(nix::fcntl::OFlag::O_CLOEXEC)
}
