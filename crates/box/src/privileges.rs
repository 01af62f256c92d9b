//! The user of a box, and what it may do: nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, getegid, geteuid, setgroups, setresgid, setresuid};

use crate::layers::{Layers, Plan, Refused};
use crate::options::Options;
use crate::{fence, sys, view};

// linux/securebits.h: root has no privileges, a change of user keeps none, and neither can be changed again.
const SECURE: libc::c_ulong = 0b1110_0011;

/// Maps the caller to the box's user, in a user namespace that was just made.
pub fn map_user(user: u32, caller: (Uid, Gid)) -> Result<(), Refused> {
    let write = |name: &str, text: String| {
        fs::write(format!("/proc/self/{name}"), text)
            .map_err(|error| Refused::new(&format!("user namespace, {name}"), error))
    };
    write("setgroups", "deny".to_string())?;
    write("uid_map", format!("{user} {} 1", caller.0))?;
    write("gid_map", format!("{user} {} 1", caller.1))
}

/// Returns the user and group of the calling process.
pub fn caller() -> (Uid, Gid) {
    (geteuid(), getegid())
}

/// Becomes the box's user, for ever, without any capability and without a way to gain one.
pub fn give_up(options: &Options, plan: Plan, layers: &mut Layers) -> Result<(), Refused> {
    bound();
    let secured = sys::prctl(libc::PR_SET_SECUREBITS, SECURE, 0);
    match plan {
        Plan::UserNamespace => layers.lack("user", "the box's user is your own, in a user namespace"),
        Plan::Root => {
            become_user(options.user).map_err(|error| Refused::new("another user", error))?;
            layers.set("user", options.user.to_string());
        }
        Plan::Bare => match other_user(options) {
            Ok(()) => layers.set("user", options.user.to_string()),
            Err(reason) => layers.lack("user", reason),
        },
    }
    sys::drop_capabilities().map_err(|error| Refused::new("capabilities", error))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map_err(|error| Refused::new("no_new_privs", error))?;
    // Others of the box cannot trace the keeper; a program that is executed can be traced again.
    sys::prctl(libc::PR_SET_DUMPABLE, 0, 0).map_err(|error| Refused::new("dumpable", error))?;
    let kept = if secured.is_ok() { "none, for ever" } else { "none, and no new ones" };
    layers.set("privileges", kept);
    Ok(())
}

/// Becomes the box's user where paths are the host's. A folder that only its owner may enter is no reason to do without
/// the guest: Landlock, or the trust of the caller, then has to do.
fn other_user(options: &Options) -> Result<(), String> {
    if options.trust || fence::exists() {
        let paths = options.views.iter().chain([&options.exchange]);
        if let Some(folder) = paths.flat_map(|path| path.ancestors().skip(1)).find(|folder| is_closed(folder)) {
            return Err(format!("another user could not enter {}", folder.display()));
        }
    }
    view::hand_over(options).map_err(|error| format!("another user, the exchange folder: {error}"))?;
    become_user(options.user).map_err(|error| format!("another user: {error}"))
}

fn is_closed(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|state| state.permissions().mode() & 0o001 == 0)
}

fn become_user(user: u32) -> nix::Result<()> {
    setgroups(&[])?;
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)
}

/// Takes every capability out of the bounding set. A caller without the right to do that has no capability to lose.
fn bound() {
    let mut capability = 0;
    while sys::prctl(libc::PR_CAPBSET_READ, capability, 0).is_ok() {
        let _ = sys::prctl(libc::PR_CAPBSET_DROP, capability, 0);
        capability += 1;
    }
}
