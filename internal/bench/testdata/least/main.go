// least is the least that an init written in Go can be: it starts its arguments as a child, waits, and ends with its code. What it takes is
// the price of Go's runtime.
package main

import (
	"os"
	"syscall"
)

func main() {
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		os.Exit(126)
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			os.Exit(status.ExitStatus())
		}
	}
}
