package signals

import (
	"syscall"
	"unsafe"
)

// sigaction is the kernel's struct sigaction on amd64 and arm64: handler, flags, restorer, mask
// (runtime/defs_linux_amd64.go and defs_linux_arm64.go).
type sigaction [4]uintptr

// sigIgnore is SIG_IGN.
const sigIgnore = 1

// setSize is the size of the kernel's sigset_t in bytes.
const setSize = 8

// actionOf is what happens on a signal; on an error, which no signal number of Linux gives, that is the default.
func actionOf(sig syscall.Signal) (action sigaction) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), setSize, 0, 0)
	return action
}

// set says what is to happen on a signal. The kernel refuses this for SIGKILL and SIGSTOP only.
func (action sigaction) set(sig syscall.Signal) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
}

// blocked is the signal mask of the calling thread: bit N-1 stands for signal N.
func blocked() (set uint64) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&set)), setSize, 0, 0)
	return set
}

// unblockAll lets every signal come to the calling thread.
func unblockAll() {
	const sigSetmask = 2
	var none uint64
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetmask, uintptr(unsafe.Pointer(&none)), 0, setSize, 0, 0)
}
