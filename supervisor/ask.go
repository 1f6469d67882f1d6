package supervisor

import (
	"syscall"

	"garm-entrypoint/supervisor/signals"
)

// What the owner of a child may ask of it, from any goroutine.

// Stop asks the child to end: SIGTERM now, SIGKILL after its StopTimeout. It does not count as a request to stop us,
// and does not wait.
func (c *Child) Stop() {
	c.loop.do(func() {
		if c.loop.child == c {
			c.loop.deliverStop(c, signals.Arrived{Signal: syscall.SIGTERM})
		}
	})
}

// Release delivers the signals that Hold has kept back and keeps none back from now on.
func (c *Child) Release() {
	c.loop.do(func() { c.loop.release(c) })
}
