//! The few system calls that no crate in use wraps. All unsafe code outside the backends is here.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;
use nix::sys::epoll::EpollFlags;

/// The result of one wait: tokens of ready descriptors with their flags.
pub struct Events {
    buffer: [libc::epoll_event; 4],
    count: usize,
}

impl Events {
    pub fn new() -> Self {
        Self { buffer: [libc::epoll_event { events: 0, u64: 0 }; 4], count: 0 }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, EpollFlags)> + '_ {
        self.buffer[..self.count].iter().map(|event| {
            let events = event.events;
            (event.u64, EpollFlags::from_bits_truncate(events as i32))
        })
    }
}

/// Waits for events with a timeout in nanoseconds; None waits for ever. `epoll_wait` rounds to milliseconds.
pub fn epoll_wait(epoll: &OwnedFd, events: &mut Events, timeout_ns: Option<u64>) -> io::Result<()> {
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let timeout_pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the buffer holds as many events as the kernel may write, the timeout outlives the call, no signal mask is
    // given. The raw call is used because musl and older C libraries have no wrapper.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events.buffer.as_mut_ptr(),
            events.buffer.len() as c_int,
            timeout_pointer,
            std::ptr::null::<libc::sigset_t>(),
            size_of::<libc::sigset_t>(),
        )
    };
    events.count = 0;
    if count < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    events.count = count.unsigned_abs() as usize;
    Ok(())
}

/// Gives the calling thread `SCHED_FIFO` priority; false where that is not allowed.
pub fn set_fifo_priority(priority: c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread; the parameters outlive the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}
