"""What `perf script` prints becomes folded stacks of a trial's processes, and of no others."""

from syrupy.assertion import SnapshotAssertion

from longlook.lab.perf_script import folded, read_samples

FORKS = """\
python3 0/0 PERF_RECORD_FORK(20:20):(1:1)
python3 20/20 PERF_RECORD_COMM: program:20/20
program 20/20 PERF_RECORD_FORK(20:21):(20:20)
program 20/20 PERF_RECORD_FORK(30:30):(20:20)
program 30/30 PERF_RECORD_FORK(40:40):(30:30)
"""

GO = """\
program 20/21
\tffffffff82046e22 udp_sendmsg ([kernel.kallsyms])
\tffffffff821ef691 do_syscall_64+0x51 ([kernel.kallsyms])
\t          9faea syscall.Syscall6 (/cache/program)
\t         204311 github.com/quic-go/quic-go.(*Conn).run (/cache/program)

"""

LIBRARY = """\
worker two 40/41
\t          1999a8 [unknown] (/usr/lib/x86_64-linux-gnu/libcrypto.so.3)
\t           5edb5 <alloc::boxed::Box<F; A> as core::ops::Fn<Args>>::call (/cache/my program (deleted))

"""

OUTSIDE = """\
swapper 0/0
\tffffffff81000000 default_idle ([kernel.kallsyms])

other 77/77
\t           1000 main (/usr/bin/other)

"""


def read(text: str) -> dict[str, int]:
    return dict(read_samples(text.splitlines()).of([20]))


def test_a_stack_is_folded_from_the_outermost_function_inwards() -> None:
    expected = "program;github.com/quic-go/quic-go.(*Conn).run;syscall.Syscall6;do_syscall_64_[k];udp_sendmsg_[k]"
    assert read(FORKS + GO + GO) == {expected: 2}


def test_processes_that_a_program_started_count_and_others_do_not() -> None:
    found = read(FORKS + LIBRARY + OUTSIDE)
    expected = "worker two;<alloc::boxed::Box<F: A> as core::ops::Fn<Args>>::call;[unknown] (libcrypto.so.3)"
    assert found == {expected: 1}
    assert read_samples((FORKS + OUTSIDE).splitlines()).of([77]) == {"other;main": 1}


def test_a_sample_counts_without_an_empty_line_behind_it() -> None:
    assert sum(read(FORKS + GO.rstrip()).values()) == 1


def test_lost_samples_and_a_kernel_without_names_are_told() -> None:
    lost = "program 20/20 PERF_RECORD_LOST lost 17\nprogram 20/20 PERF_RECORD_LOST lost 5\n"
    assert read_samples((FORKS + lost).splitlines()).lost == 22
    hidden = GO.replace("udp_sendmsg", "[unknown]").replace("do_syscall_64+0x51", "[unknown]")
    assert not read_samples(hidden.splitlines()).kernel_is_named
    assert read_samples(GO.splitlines()).kernel_is_named


def test_system_calls_count_for_the_program_that_made_them_or_started_who_did() -> None:
    call = "            program    20/21                    raw_syscalls:sys_enter: \n"
    found = read_samples(
        (FORKS + call + GO + call.replace("20/21", "40/41") + call.replace("20/21", "77/77")).splitlines()
    )
    assert (found.calls_of([20]), found.calls_of([77]), found.calls_of([5])) == (2, 1, 0)
    assert found.of([20]).total() == 1


def test_parents_in_a_circle_end() -> None:
    circle = "a 1/1 PERF_RECORD_FORK(20:20):(30:30)\na 1/1 PERF_RECORD_FORK(30:30):(20:20)\n"
    assert sum(read(circle + GO).values()) == 1


def test_anything_else_is_passed_over() -> None:
    assert read("# a comment\n\tno frame\n\x00\nperf: warning\n") == {}


def test_folded_stacks_are_lines_in_order(snapshot: SnapshotAssertion) -> None:
    assert folded({"b;c d": 1, "a": 20}) == snapshot
