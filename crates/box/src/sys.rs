//! The few system calls that no crate in use wraps. All unsafe code is here.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, c_ulong};

const OPEN_TREE_CLONE: c_int = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_int = 4;

/// The process that signals are passed on to; 0 while there is none.
static WARD: AtomicI32 = AtomicI32::new(0);

/// What `mount_setattr` sets on a mount.
pub const READ_ONLY: u64 = 0x1;
pub const NO_SET_USER_ID: u64 = 0x2;
pub const NO_DEVICES: u64 = 0x4;
pub const NO_EXECUTION: u64 = 0x8;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// fork(2) into new namespaces; 0 in the child. The caller has one thread.
pub fn clone(namespaces: c_int) -> io::Result<i32> {
    // SAFETY: without CLONE_VM and with no stack this is fork(2), and the caller has no other thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, c_ulong::from((namespaces | libc::SIGCHLD) as u32), 0, 0, 0, 0) };
    checked(pid).map(|pid| pid as i32)
}

/// Copies a mount, with all mounts below it, that nothing is mounted at yet.
pub fn copy_mount(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_RECURSIVE | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the path outlives the call; the descriptor that it returns is new.
    unsafe {
        let descriptor = checked(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(descriptor as RawFd))
    }
}

/// Mounts a copy at a path.
pub fn move_mount(copy: &OwnedFd, target: &Path) -> io::Result<()> {
    let target = c_path(target)?;
    // SAFETY: the paths outlive the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            copy.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    })?;
    Ok(())
}

/// Sets attributes of a copy and of all mounts below it.
pub fn set_mounts(copy: &OwnedFd, attributes: u64) -> io::Result<()> {
    set_attributes(copy.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, attributes)
}

/// Sets attributes of the one mount at a path.
pub fn set_mount(path: &CStr, attributes: u64) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, path, 0, attributes)
}

fn set_attributes(folder: RawFd, path: &CStr, flags: c_int, attributes: u64) -> io::Result<()> {
    let values = MountAttributes { set: attributes, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: path and values outlive the call, which is given their size.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            flags,
            &raw const values,
            size_of::<MountAttributes>(),
        )
    })?;
    Ok(())
}

/// prctl(2) with numbers.
pub fn prctl(option: c_int, value: c_ulong, more: c_ulong) -> io::Result<c_int> {
    // SAFETY: the options in use take numbers alone.
    checked(libc::c_long::from(unsafe { libc::prctl(option, value, more, 0, 0) })).map(|result| result as c_int)
}

/// Gives up every capability of this thread.
pub fn drop_capabilities() -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: both arrays are laid out as the kernel's structures, and outlive the call.
    checked(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) })?;
    Ok(())
}

/// Keeps addresses of the next program as they are: the kernel of a guest asks for it, and starts itself again if not.
pub fn fix_addresses() {
    // SAFETY: personality(2) takes a number.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as c_ulong) };
}

/// Names the process that signals are passed on to.
pub fn set_ward(pid: i32) {
    WARD.store(pid, Ordering::SeqCst);
}

/// Passes a signal on to the ward, as it is.
pub extern "C" fn pass_on(signal: c_int) {
    tell_ward(signal);
}

/// Ends the ward.
pub extern "C" fn end_ward(_signal: c_int) {
    tell_ward(libc::SIGKILL);
}

fn tell_ward(signal: c_int) {
    let ward = WARD.load(Ordering::SeqCst);
    if ward > 0 {
        // SAFETY: kill(2) may be called in a handler; the ward is a child that was not waited for.
        unsafe { libc::kill(ward, signal) };
    }
}

/// Sets what a signal does.
pub fn on_signal(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: the handlers are the two above, SIG_IGN or SIG_DFL; the structure is complete.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Waits for a child, or any (-1), and returns its pid and its status as wait(2) gives it.
pub fn wait(pid: i32) -> io::Result<(i32, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status outlives the call.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
        match checked(ended.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(|ended| (ended as i32, status)),
        }
    }
}

/// Ends this process as a child ended: by the same exit code, or by the same signal.
pub fn end_as(status: c_int) -> ! {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        on_signal(signal, libc::SIG_DFL);
        // SAFETY: raise(3) takes a number.
        unsafe { libc::raise(signal) };
    }
    exit(libc::WEXITSTATUS(status))
}

/// Ends this process at once.
pub fn exit(code: c_int) -> ! {
    // SAFETY: nothing of this process is needed any more.
    unsafe { libc::_exit(code) }
}

/// Takes over a descriptor that this process was started with.
pub fn inherited(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl fails for a descriptor that is not open; nothing else here knows this one.
    unsafe {
        checked(libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC).into())?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}
