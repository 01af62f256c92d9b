"""Kinds of work are told by the names of functions, of stacks as they were sampled."""

import pytest

from longlook.timeline.cpu_work import Work, work_of

SYSCALL = "entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k]"
SEND = f"quinn_udp::imp::UdpSocketState::send;__libc_sendmsg (libc.so.6);{SYSCALL}"

STACKS = [
    ("net.(*UDPConn).Write;crypto/internal/fips140/aes/gcm.gcmAesEnc.abi0", Work.CRYPTOGRAPHY),
    ("quic.(*Conn).run;crypto/internal/fips140/aes/gcm.seal;encoding/binary.PutUint64", Work.CRYPTOGRAPHY),
    ("adapter::main;ring::aead::aes_gcm::seal", Work.CRYPTOGRAPHY),
    ("adapter::main;ring_core_0_17_14__aes_gcm_enc_update_vaes_avx2", Work.CRYPTOGRAPHY),
    ("main;EVP_EncryptUpdate (libcrypto.so.3);[unknown] (libcrypto.so.3)", Work.CRYPTOGRAPHY),
    ("adapter::main;bssl::aes_hw_ctr32_encrypt_blocks", Work.CRYPTOGRAPHY),
    ("main.fetchInto;main.copyBody;crypto/internal/fips140/sha256.(*Digest).Write", Work.CHECKING),
    ("adapter::main;longlook_adapter::objects::Body::take;sha2::sha256::x86::compress", Work.CHECKING),
    ("main.copyBody;io.Read;crypto/internal/fips140/aes/gcm.gcmAesDec.abi0", Work.CRYPTOGRAPHY),
    ("main;[unknown] (09-libngtcp2.so.9);[unknown] (08-libgnutls.so.30)", Work.CRYPTOGRAPHY),
    ("main;CRYPTO_chacha_20 (libssl.so)", Work.CRYPTOGRAPHY),
    ("main;bn_sqr8x_mont", Work.CRYPTOGRAPHY),
    ("http.Serve;crypto/tls.(*Conn).Write;crypto/tls.(*halfConn).encrypt", Work.OWN),
    ("main.aesthetic", Work.OWN),
    (f"{SEND};__sys_sendmsg_[k];udp_sendmsg_[k];ip_make_skb_[k]", Work.SENDING),
    (f"{SEND};x64_sys_call_[k];__x64_sys_sendmsg_[k]", Work.SENDING),
    (f"tls.Write;{SYSCALL};ksys_write_[k];vfs_write_[k];sock_write_iter_[k];tcp_sendmsg_[k]", Work.SENDING),
    (f"tls.Write;{SYSCALL};do_writev_[k];sock_write_iter_[k];tcp_write_xmit_[k];__ip_queue_xmit_[k]", Work.SENDING),
    (f"tls.Write;{SYSCALL};do_writev_[k];tcp_write_xmit_[k];__dev_queue_xmit_[k];veth_xmit_[k]", Work.DEVICE),
    (f"park;{SYSCALL};do_futex_[k]", Work.WAKING),
    (f"poll;{SYSCALL};do_epoll_pwait.part.0_[k]", Work.WAKING),
    (f"poll;{SYSCALL};do_sys_poll.constprop.0_[k]", Work.WAKING),
    (f"main;{'[unknown]_[k];' * 3}[unknown]_[k]", Work.UNNAMED),
    (f"{SEND};__sys_sendmsg_[k];udp_sendmsg_[k];_copy_from_iter_[k]", Work.COPIES),
    (f"{SEND};__sys_sendmsg_[k];ip_output_[k];dev_hard_start_xmit_[k];veth_xmit_[k]", Work.DEVICE),
    (f"{SEND};__sys_sendmsg_[k];do_softirq.part.0_[k];handle_softirqs_[k];tpacket_rcv_[k]", Work.DEVICE),
    ("main;asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k]", Work.DEVICE),
    (f"recv;{SYSCALL};__x64_sys_recvmmsg_[k];do_recvmmsg_[k];udp_recvmsg_[k]", Work.RECEIVING),
    (f"read;{SYSCALL};ksys_read_[k];vfs_read_[k];sock_read_iter_[k];tcp_recvmsg_[k]", Work.RECEIVING),
    (f"read;{SYSCALL};ksys_read_[k];vfs_read_[k];ext4_file_read_iter_[k];filemap_read_[k]", Work.OTHER_CALLS),
    (f"wake;{SYSCALL};ksys_write_[k];vfs_write_[k];eventfd_write_[k]", Work.WAKING),
    (f"park;{SYSCALL};__x64_sys_futex_[k];do_futex_[k];finish_task_switch.isra.0_[k]", Work.WAKING),
    (f"netpoll;{SYSCALL};do_epoll_pwait.part.0_[k];schedule_[k];finish_task_switch.isra.0_[k]", Work.WAKING),
    (f"run;{SYSCALL};exit_to_user_mode_loop_[k];schedule_[k]", Work.WAKING),
    ("run;asm_exc_page_fault_[k];exc_page_fault_[k];clear_page_erms_[k]", Work.MEMORY),
    (f"run;{SYSCALL};__x64_sys_openat_[k];do_sys_openat2_[k]", Work.OTHER_CALLS),
    (f"run;{SYSCALL}", Work.OTHER_CALLS),
    ("adapter::main;__memmove_avx512_unaligned_erms (libc.so.6)", Work.COPIES),
    ("io.Copy;runtime.memmove", Work.COPIES),
    ("adapter::main;__memset_avx512_unaligned_erms (libc.so.6)", Work.MEMORY),
    ("quic.(*Conn).run;runtime.newobject;runtime.mallocgc;runtime.nextFreeFast", Work.MEMORY),
    ("runtime.gcBgMarkWorker;runtime.scanobject", Work.MEMORY),
    ("main;malloc (libc.so.6)", Work.MEMORY),
    ("main;_int_free (libc.so.6)", Work.MEMORY),
    ("runtime.mcall;runtime.schedule;runtime.findRunnable", Work.RUNTIME),
    ("adapter::main;tokio::runtime::task::raw::poll", Work.RUNTIME),
    ("adapter::main;__vdso_clock_gettime ([vdso])", Work.RUNTIME),
    ("adapter::main;quinn_proto::connection::Connection::on_ack_received", Work.OWN),
    ("quic-go.(*Conn).run;internal/ackhandler.(*sentPacketHandler).detectAndRemoveAckedPackets", Work.OWN),
    ("main;ngtcp2_conn_write_vmsg (libngtcp2.so.9);[unknown] (libngtcp2.so.9)", Work.UNNAMED),
]


@pytest.mark.parametrize(("stack", "expected"), STACKS, ids=[stack[-40:] for stack, _ in STACKS])
def test_a_stack_is_one_kind_of_work(stack: str, expected: Work) -> None:
    assert work_of(stack.split(";")) is expected


def test_without_frames_it_has_no_name() -> None:
    assert work_of([]) is Work.UNNAMED
