//! What a box sees of the host: what it was given, read-only, at the same paths; its exchange folder; its memory.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use crate::layers::Refused;
use crate::options::Options;
use crate::resources::SLACK_BYTES;
use crate::sys::{self, NO_DEVICES, NO_EXECUTION, NO_SET_USER_ID, READ_ONLY};

/// Where the kernel works.
pub const EXCHANGE: &str = "/longlook-box/exchange";
/// The folder of the guest's memory.
pub const MEMORY: &str = "/longlook-box/memory";

/// Folders that every host has, and on which a guest mounts its own; two of them are for everybody.
const EMPTY: [&str; 5] = ["/dev", "/home", "/proc", "/run", "/sys"];
const EVERYBODYS: [&str; 2] = ["/tmp", "/var/tmp"];
const STAGE: &str = "/tmp"; // covered by the new root until that is the root
const CPU: &str = "/proc/cpuinfo"; // the kernel looks for features of the processor
/// The one device of a box.
pub const NULL: &str = "/dev/null";
const LINK: &str = "/proc/self/cwd"; // the kernel's command line names its working directory so

enum Sight {
    Link(PathBuf),
    Mount(OwnedFd, bool), // whether it is a folder
}

/// Makes the view this process's root. It is in a mount namespace of its own, and still privileged there.
pub fn enter(options: &Options) -> Result<(), Refused> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .map_err(|error| Refused::new("mounts, private", error))?;
    let mut sights = Vec::new();
    for path in &options.views {
        if let Some(sight) = open(path, READ_ONLY | NO_SET_USER_ID | NO_DEVICES)? {
            sights.push((path.as_path(), sight));
        }
    }
    for (path, attributes) in [(CPU, READ_ONLY | NO_DEVICES), (NULL, 0)] {
        if let Some(sight) = open(Path::new(path), attributes | NO_SET_USER_ID | NO_EXECUTION)? {
            sights.push((Path::new(path), sight));
        }
    }
    sights.sort_by_key(|(path, _)| *path); // folders before what lies in them
    let exchange = open(&options.exchange, NO_SET_USER_ID | NO_DEVICES)?
        .ok_or_else(|| Refused::new("mounts", format!("{} is missing", options.exchange.display())))?;

    new_root().map_err(|error| Refused::new("mounts, a root of its own", error))?;
    for (path, sight) in sights {
        show(path, sight).map_err(|error| Refused::new(&format!("mounts, {}", path.display()), error))?;
    }
    make_folders().map_err(|error| Refused::new("mounts, empty folders", error))?;
    let place = |error| Refused::new("mounts, the exchange folder", error);
    show(Path::new(EXCHANGE), exchange).map_err(place)?;
    show(Path::new(LINK), Sight::Link(EXCHANGE.into())).map_err(place)?;
    make_memory(options).map_err(|error| Refused::new("mounts, memory", error))?;
    sys::set_mount(c"/", READ_ONLY | NO_SET_USER_ID | NO_DEVICES)
        .map_err(|error| Refused::new("mounts, read-only", error))?;
    chdir(EXCHANGE).map_err(|error| Refused::new("mounts, the exchange folder", error))
}

/// Copies the mount of a path; None for one that is not there, or that the caller may not reach.
fn open(path: &Path, attributes: u64) -> Result<Option<Sight>, Refused> {
    let refused = |error| Refused::new(&format!("mounts, {}", path.display()), error);
    let passed_over =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    let state = match fs::symlink_metadata(path) {
        Err(error) if passed_over(&error) => return Ok(None),
        state => state.map_err(refused)?,
    };
    if state.is_symlink() {
        return Ok(Some(Sight::Link(fs::read_link(path).map_err(refused)?)));
    }
    let copy = sys::copy_mount(path).map_err(refused)?;
    sys::set_mounts(&copy, attributes).map_err(refused)?;
    Ok(Some(Sight::Mount(copy, state.is_dir())))
}

/// Makes an empty file system the root, and leaves the host's behind.
fn new_root() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("longlook-box"), STAGE, Some("tmpfs"), flags, Some("size=1m,mode=0755"))?;
    chdir(STAGE)?;
    pivot_root(".", ".")?; // the old root is now mounted over the new one
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")
}

fn show(path: &Path, sight: Sight) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(()); // it lies in a folder that is shown
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    match sight {
        Sight::Link(target) => symlink(target, path),
        Sight::Mount(copy, is_folder) => {
            if is_folder {
                fs::create_dir(path)?;
            } else {
                fs::File::create(path)?;
            }
            sys::move_mount(&copy, path)
        }
    }
}

fn make_folders() -> io::Result<()> {
    for path in EMPTY.iter().chain(&EVERYBODYS) {
        fs::create_dir_all(path)?;
    }
    for path in EVERYBODYS {
        fs::set_permissions(path, Permissions::from_mode(0o1777))?;
    }
    Ok(())
}

/// Makes the folder for the guest's memory, which has room for that and no more. Programs are executed from it.
///
/// Its pages are huge if the host has those: the host handles fewer of them, and nothing else changes.
fn make_memory(options: &Options) -> io::Result<()> {
    fs::create_dir(MEMORY)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let (user, size) = (options.user, options.memory_bytes + SLACK_BYTES);
    let settings = format!("size={size},nr_inodes=64,mode=0700,uid={user},gid={user}");
    let make = |settings: &str| mount(Some("longlook-memory"), MEMORY, Some("tmpfs"), flags, Some(settings));
    Ok(make(&format!("{settings},huge=always")).or_else(|_| make(&settings))?)
}

/// Makes the exchange folder, what is in it now, and the folder for memory the box's user's own.
pub fn hand_over(options: &Options) -> io::Result<()> {
    for folder in options.memory_folder.iter().chain([&options.exchange]) {
        chown(folder, Some(options.user), Some(options.user))?;
    }
    for entry in fs::read_dir(&options.exchange)? {
        lchown(entry?.path(), Some(options.user), Some(options.user))?;
    }
    Ok(())
}
