package linequeue

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// queuedLines is how many lines wait for a stderr that nobody reads.
	queuedLines = 256
	// flushTimeout is how long the end of the process waits for it.
	flushTimeout = time.Second
)

// Queue is a writer that never blocks: a stderr that nobody reads must keep us neither from starting garm nor from
// passing a stop signal on. What does not fit is dropped and counted.
type Queue struct {
	w       io.Writer
	lines   chan []byte
	written chan struct{}

	mutex   sync.Mutex // guards the rest
	started bool       // the goroutine that writes: with the first line
	closed  bool
	dropped int
}

// New returns a queue before w. Nothing runs before its first line.
func New(w io.Writer) *Queue {
	return &Queue{w: w, lines: make(chan []byte, queuedLines), written: make(chan struct{})}
}

func (q *Queue) writeAll() {
	defer close(q.written)
	for line := range q.lines {
		_, _ = q.w.Write(line) // there is nowhere to report to
		if n := q.takeDropped(); n > 0 {
			fmt.Fprintf(q.w, "garm-entrypoint: %d lines were dropped, since nobody read them\n", n)
		}
	}
}

// Write takes one line, and reports it as written.
func (q *Queue) Write(p []byte) (int, error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.closed {
		return 0, io.ErrClosedPipe
	}
	if !q.started {
		q.started = true
		go q.writeAll()
	}
	select {
	case q.lines <- append([]byte(nil), p...):
	default:
		q.dropped++
	}
	return len(p), nil
}

func (q *Queue) takeDropped() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	n := q.dropped
	q.dropped = 0
	return n
}

// Flush waits until all is written, but not for ever.
func (q *Queue) Flush() {
	q.mutex.Lock()
	q.closed = true
	close(q.lines)
	idle := !q.started
	q.mutex.Unlock()
	if idle {
		return
	}
	select {
	case <-q.written:
	case <-time.After(flushTimeout):
	}
}
