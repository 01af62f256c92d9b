//! Limits of what a box may take: by control groups, which the caller made, and by `setrlimit`.

use std::path::PathBuf;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::layers::Layers;
use crate::options::Options;

/// The guest's memory is one file, and the largest that a guest may write.
pub const SLACK_BYTES: u64 = 64 << 20;

/// A guest's kernel holds a file of the host open for each one that its programs have read, until it needs the memory,
/// and a socket for each process. A view with more files than this is rare; a limit of 1024 is not.
const DESCRIPTORS: u64 = 1 << 20;

/// Makes this process a member of the control groups. Call it while the host's files are in sight.
pub fn join(groups: &[PathBuf], layers: &mut Layers) {
    if groups.is_empty() {
        layers.lack("cgroup", "no control group can be made here");
        return;
    }
    for group in groups {
        if let Err(error) = std::fs::write(group.join("cgroup.procs"), "0") {
            layers.lack("cgroup", format!("{}: {error}", group.display()));
            return;
        }
    }
    layers.set("cgroup", "processes and memory");
}

/// Lowers the limits of this process and of all that it starts.
pub fn limit(options: &Options, layers: &mut Layers) {
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
        (Resource::RLIMIT_NPROC, options.tasks),
        (Resource::RLIMIT_FSIZE, options.memory_bytes + SLACK_BYTES),
    ];
    let descriptors = raise_descriptors();
    for (resource, most) in limits {
        let done = getrlimit(resource).and_then(|(_, hard)| setrlimit(resource, most.min(hard), most.min(hard)));
        if let Err(error) = done {
            layers.lack("limits", format!("{resource:?}: {error}"));
            return;
        }
    }
    let (tasks, bytes) = (options.tasks, options.memory_bytes);
    layers.set("limits", format!("{tasks} processes of the box's user, files of {bytes}, {descriptors} open files"));
}

/// Allows this process as many open files as it may have, and returns how many that are.
fn raise_descriptors() -> u64 {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    [DESCRIPTORS, hard.min(DESCRIPTORS)]
        .into_iter()
        .find(|&wanted| setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted).is_ok())
        .unwrap_or(soft)
}
