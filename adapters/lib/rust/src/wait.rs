//! Waiting for sockets, signals and times, to the microsecond: pacing is finer than a millisecond.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Have the kernel wake this thread when it is time, not up to 50 us later.
pub fn be_punctual() {
    // SAFETY: this option takes a number and changes nothing but the thread's timers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Wait until one of `sockets` is ready, or until `until`. The flag of a socket is true to wait for its writing, too.
pub fn ready(sockets: &[(&dyn AsRawFd, bool)], until: Option<Instant>) -> io::Result<()> {
    let mut fds: Vec<libc::pollfd> = sockets
        .iter()
        .map(|(socket, writing)| libc::pollfd {
            fd: socket.as_raw_fd(),
            events: libc::POLLIN | if *writing { libc::POLLOUT } else { 0 },
            revents: 0,
        })
        .collect();
    let limit = until.map(|moment| timespec(moment.saturating_duration_since(Instant::now())));
    let limit = limit.as_ref().map_or(std::ptr::null(), |limit| &raw const *limit);
    // SAFETY: the array and its length belong together; `limit` points to a timespec that lives on, or is null.
    let done = unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, limit, std::ptr::null()) };
    if done < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() }
}

/// SIGTERM and SIGINT as something that can be waited for.
pub struct Stop(OwnedFd);

impl Stop {
    /// From now on the signals no longer end the process.
    pub fn caught() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before it is used, and the descriptor is ours alone.
        unsafe {
            let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            let set = set.assume_init();
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Return whether one has come.
    pub fn asked(&self) -> bool {
        let mut one = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, which lives through the call.
        unsafe { libc::poll(&raw mut one, 1, 0) == 1 }
    }
}

impl AsRawFd for Stop {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}
