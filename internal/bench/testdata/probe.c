// The program that the measured inits run, and that runs the measured inits. It is C and static, so that its own start costs next to
// nothing. What it has to say it writes to standard output: moments of CLOCK_MONOTONIC in ns, 8 bytes each.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
	perror(what);
	_exit(99);
}

static void stamp(uint64_t t) {
	if (write(1, &t, sizeof t) != sizeof t)
		fail("cannot write a moment");
}

static void pause_for(long ns) {
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	nanosleep(&t, NULL);
}

// go_on waits for a byte from the harness; its end ends us too.
static void go_on(void) {
	char byte;
	if (read(0, &byte, 1) != 1)
		_exit(0);
}

// launch becomes the init in argv[1..]. As "pid1" we are the first process of a PID namespace, which gets a /proc of its own.
static int launch(char **argv) {
	if (!strcmp(argv[0], "pid1")) {
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, NULL))
			fail("cannot mount /proc");
	}
	stamp(now());
	execvp(argv[1], argv + 1);
	fail(argv[1]);
	return 99;
}

// answer stamps every SIGUSR1.
static int answer(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	stamp(now()); // ready
	for (;;)
		if (sigwaitinfo(&set, NULL) == SIGUSR1)
			stamp(now());
}

// reaped counts on from the first of n that may not be gone. A zombie still takes signals.
static int reaped(const volatile pid_t *pids, int from, int n) {
	while (from < n && kill(pids[from], 0) != 0)
		from++;
	return from;
}

// orphans makes n of them: each is forked by a process that ends at once, and ends at once itself. It stamps when the last was born,
// and when the init has reaped all.
static int orphans(int n) {
	volatile pid_t *pids = calloc(n, sizeof *pids); // volatile: what a vforked child writes is not for nothing
	if (!pids)
		fail("cannot allocate memory");
	go_on();
	stamp(now());
	int gone = 0;
	for (int i = 0; i < n; i++) {
		pid_t parent = vfork(); // three times as fast as fork, and the memory is shared
		if (parent == 0) {
			pid_t orphan = vfork();
			if (orphan == -1)
				fail("cannot fork");
			if (orphan > 0)
				pids[i] = orphan;
			_exit(0);
		}
		if (parent == -1 || waitpid(parent, NULL, 0) != parent)
			fail("cannot fork");
		gone = reaped(pids, gone, i);
	}
	stamp(now());
	while ((gone = reaped(pids, gone, n)) < n)
		pause_for(50 * 1000);
	stamp(now());
	return 0;
}

int main(int argc, char **argv) {
	uint64_t started = now();
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "launch") && argc > 3)
		return launch(argv + 2);
	stamp(started);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "answer"))
		return answer();
	if (!strcmp(mode, "orphans") && argc > 2)
		return orphans(atoi(argv[2]));
	if (!strcmp(mode, "idle"))
		go_on();
	if (!strcmp(mode, "exit")) {
		pause_for(20 * 1000 * 1000); // the init is at rest by then
		stamp(now());
		_exit(2);
	}
	return 0; // also as what is given for garm, with garm's arguments
}
