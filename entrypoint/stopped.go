package main

import (
	"context"
	"syscall"
	"time"

	"garm-entrypoint/entrypoint/boot"
)

// untilStopped returns a context that ends at a stop signal, with that as its cause.
func (a *app) untilStopped() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(ctx, a.signals.Wake)
	go func() {
		for ctx.Err() == nil {
			a.signals.Wait(time.Time{})
			// Any other, SIGHUP included, means nothing here: there are no logs to rotate.
			switch next, _ := a.signals.Next(); next.Signal {
			case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT:
				cancel(&boot.StoppedError{Signal: next.Signal})
			}
			a.signals.ReapingNow() // we have no children, and a stray SIGCHLD must not end each Wait
		}
	}()
	return ctx, func() { cancel(nil) }
}
