//! The system calls that are left in a box: those that the kernel of a guest, and what runs its programs, need.
//!
//! Any other one fails with EPERM. User-Mode Linux filters the processes that run its programs once more; of two filters
//! the kernel takes the stricter answer, in which its SIGSYS comes before an error, so those filters keep their meaning.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use crate::layers::Layers;

const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32 as u64;

/// Always allowed. No link, socket file, pipe or device can be made with these, and nothing mounted.
const ALLOWED: &[libc::c_long] = &[
    // files of the host, and of the exchange folder
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_chdir,
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fsync,
    libc::SYS_sync,
    libc::SYS_fstat,
    libc::SYS_lstat,
    libc::SYS_stat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_ftruncate,
    libc::SYS_truncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_creat,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_umask,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_utimensat,
    libc::SYS_futimesat,
    // memory
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_memfd_create,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munmap,
    // processes of the guest, and how its kernel runs them
    libc::SYS_arch_prctl,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_futex,
    libc::SYS_get_robust_list,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getpgrp,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_personality,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getrusage,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_seccomp,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_thread_area,
    libc::SYS_get_thread_area,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // signals and waiting
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd,
    libc::SYS_signalfd4,
    libc::SYS_restart_syscall,
    libc::SYS_pause,
    libc::SYS_epoll_create,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    // clocks and chance
    libc::SYS_alarm,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    // between the kernel and its processes
    libc::SYS_bind,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
];

/// Filters the system calls of this process and of all that it starts.
pub fn apply(layers: &mut Layers) {
    match program().and_then(|program| apply_filter(&program).map_err(|error| error.to_string())) {
        Ok(()) => layers.set("seccomp", format!("{} system calls are left", ALLOWED.len() + 3)),
        Err(reason) => layers.lack("seccomp", reason),
    }
}

fn program() -> Result<BpfProgram, String> {
    rules().map_err(|error| error.to_string())
}

fn rules() -> Result<BpfProgram, seccompiler::BackendError> {
    let only = |argument, operator, value| {
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|&number| (number, vec![])).collect();
    rules.insert(libc::SYS_clone, vec![only(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0)?]);
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.insert(number, vec![only(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?]);
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, TargetArch::x86_64)?.try_into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_call_is_listed_twice_and_the_filter_fits() {
        assert_eq!(ALLOWED.iter().collect::<BTreeSet<_>>().len(), ALLOWED.len());
        assert!(program().unwrap().len() < 4096); // BPF_MAXINSNS
    }

    #[test]
    fn nothing_that_reaches_beyond_the_box_is_allowed() {
        for number in [
            libc::SYS_mount,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_setns,
            libc::SYS_unshare,
            libc::SYS_clone3,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_io_uring_setup,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_open_by_handle_at,
            libc::SYS_kexec_load,
            libc::SYS_init_module,
            libc::SYS_connect,
            libc::SYS_symlink,
            libc::SYS_symlinkat,
            libc::SYS_link,
            libc::SYS_linkat,
            libc::SYS_mknod,
            libc::SYS_mknodat,
            libc::SYS_chroot,
            libc::SYS_pivot_root,
            libc::SYS_setuid,
            libc::SYS_setresuid,
            libc::SYS_capset,
            libc::SYS_userfaultfd,
            libc::SYS_shmget,
            libc::SYS_msgget,
            libc::SYS_mq_open,
        ] {
            assert!(!ALLOWED.contains(&number), "{number}");
        }
    }
}
