//! An instance of tracefs of our own: its buffers and settings are private, and it goes away with us.
//!
//! Instances outlive their makers, so each is locked by its maker while that lives; one without an owner is removed by the
//! next recorder.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::file::Unavailable;
use crate::format::Format;
use crate::pages::{self, PAGE_BYTES};

const ROOT: &str = "/sys/kernel/tracing";
const PREFIX: &str = "longlook-tcp-";
const BUFFERS_KB: usize = 65_536;
const BUFFER_KB: std::ops::RangeInclusive<usize> = 256..=4_096;

/// The recorded tracepoints, by group and name.
const EVENTS: [(&str, &str); 5] = [
    ("tcp", "tcp_probe"),
    ("tcp", "tcp_cong_state_set"),
    ("tcp", "tcp_retransmit_skb"),
    ("tcp", "tcp_receive_reset"),
    ("sock", "inet_sock_set_state"),
];

/// A tracepoint that is recorded.
pub struct Tracepoint {
    pub name: &'static str,
    /// The kernel's description.
    pub text: String,
    pub format: Format,
}

/// The instance; it ends when this is dropped.
pub struct Instance {
    folder: PathBuf,
    pipes: Vec<(u32, File)>,
    pub tracepoints: Vec<Tracepoint>,
    page: Vec<u8>,
    _lock: Flock<File>,
}

impl Instance {
    /// Makes it and begins to record connections with a port. What some kernels lack is added to `lacking`; Err says
    /// why there can be none at all.
    pub fn open(port: u16, lacking: &mut Vec<Unavailable>) -> Result<Self, String> {
        let instances = find_tracefs()?;
        remove_leftovers(&instances);
        let (folder, lock) = make(&instances)?;
        let mut instance =
            Self { folder, pipes: Vec::new(), tracepoints: Vec::new(), page: vec![0; PAGE_BYTES], _lock: lock };
        instance.set_up(port, lacking)?;
        Ok(instance)
    }

    fn set_up(&mut self, port: u16, lacking: &mut Vec<Unavailable>) -> Result<(), String> {
        let folder = self.folder.clone();
        if !pages::knows(&read(&folder.join("events/header_page"))?) {
            return Err("this kernel's trace buffers have another layout".into());
        }
        write(&folder.join("trace_clock"), "mono")?;
        self.pipes = pipes(&folder.join("per_cpu"))?;
        let each_kb = (BUFFERS_KB / self.pipes.len().max(1)).clamp(*BUFFER_KB.start(), *BUFFER_KB.end());
        write(&folder.join("buffer_size_kb"), &each_kb.to_string())?;
        for (group, name) in EVENTS {
            match enable(&folder.join("events").join(group).join(name), port) {
                Ok((text, format)) => self.tracepoints.push(Tracepoint { name, text, format }),
                Err(why) => lacking.push(Unavailable { what: format!("tracepoint {name}"), why }),
            }
        }
        if self.tracepoints.is_empty() { Err("this kernel has none of them".into()) } else { Ok(()) }
    }

    /// Reads all that has happened: calls `each` with time and bytes of an event, `lost` with a CPU and how many events
    /// were overwritten before they could be read.
    pub fn drain(&mut self, mut each: impl FnMut(u64, &[u8]), mut lost: impl FnMut(u32, u64)) -> Result<(), String> {
        for (cpu, pipe) in &mut self.pipes {
            loop {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(length) => {
                        let page = &self.page[..length];
                        if let Some(events) = pages::missed(page) {
                            lost(*cpu, events);
                        }
                        pages::each_event(page, &mut each);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(format!("the trace buffer of CPU {cpu} cannot be read: {error}")),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.pipes.clear(); // an instance whose pipes are open stays
        // What cannot be removed now is found by the next recorder.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The folder of all instances, of a tracefs that is mounted here or, in a mount namespace of our own, by us.
fn find_tracefs() -> Result<PathBuf, String> {
    let instances = Path::new(ROOT).join("instances");
    if instances.is_dir() {
        return Ok(instances);
    }
    if !Path::new(ROOT).is_dir() {
        return Err("this kernel has no tracefs".into());
    }
    let refused = |error: nix::Error| format!("tracefs cannot be mounted without the machine's root: {error}");
    unshare(CloneFlags::CLONE_NEWNS).map_err(refused)?;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).map_err(refused)?;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tracefs"), ROOT, Some("tracefs"), quiet, nothing).map_err(refused)?;
    Ok(instances)
}

/// Makes and locks an instance. One that another process removes as stale before it is locked is made again.
fn make(instances: &Path) -> Result<(PathBuf, Flock<File>), String> {
    loop {
        let folder =
            instances.join(format!("{PREFIX}{}-{}", std::process::id(), longlook_support::clock::monotonic_ns()));
        fs::create_dir(&folder).map_err(|error| format!("no instance of tracefs can be made: {error}"))?;
        let Ok(opened) = File::open(&folder) else { continue };
        if let Some(lock) = hold(opened, &folder) {
            return Ok((folder, lock));
        }
    }
}

fn remove_leftovers(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        if ours && File::open(&folder).ok().and_then(|opened| hold(opened, &folder)).is_some() {
            let _ = fs::remove_dir(&folder); // another recorder may have been faster
        }
    }
}

/// Locks the instance behind a descriptor; None where somebody holds it, or it is not the one of that name any more.
fn hold(opened: File, folder: &Path) -> Option<Flock<File>> {
    let inode = opened.metadata().ok()?.ino();
    let lock = Flock::lock(opened, FlockArg::LockExclusiveNonblock).ok()?;
    (fs::metadata(folder).ok()?.ino() == inode).then_some(lock)
}

fn pipes(per_cpu: &Path) -> Result<Vec<(u32, File)>, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", per_cpu.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(per_cpu).map_err(cannot)?.flatten() {
        let name = entry.file_name();
        let Some(cpu) = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse().ok()) else { continue };
        let path = entry.path().join("trace_pipe_raw");
        let pipe = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path).map_err(cannot)?;
        found.push((cpu, pipe));
    }
    found.sort_by_key(|(cpu, _)| *cpu);
    Ok(found)
}

fn enable(event: &Path, port: u16) -> Result<(String, Format), String> {
    if !event.is_dir() {
        return Err("this kernel does not have it".into());
    }
    let text = read(&event.join("format"))?;
    let format = Format::parse(&text).ok_or("its format cannot be understood")?;
    write(&event.join("filter"), &format!("sport=={port}||dport=={port}"))?;
    write(&event.join("enable"), "1")?;
    Ok((text, format))
}

/// A whole file, in large reads: `header_page` answers the first read alone.
fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let mut file = File::open(path).map_err(cannot)?;
    let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece).map_err(cannot)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend_from_slice(&piece[..length]),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be set to {text}: {error}", path.display()))
}
