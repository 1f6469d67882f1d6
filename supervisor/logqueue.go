package supervisor

import (
	"context"
	"log/slog"
	"time"
)

// logQueue keeps the loop from blocking on a log that nobody reads, such as a full pipe: signals and orphans come first.
type logQueue struct {
	records chan slog.Record
	done    chan struct{}
}

func newLogQueue(logger *slog.Logger) *logQueue {
	q := &logQueue{records: make(chan slog.Record, 64), done: make(chan struct{})}
	go func() {
		defer close(q.done)
		for record := range q.records {
			if logger != nil && logger.Enabled(context.Background(), record.Level) {
				// The handler's error has nowhere to go.
				_ = logger.Handler().Handle(context.Background(), record)
			}
		}
	}()
	return q
}

func (q *logQueue) warn(msg string, args ...any) {
	record := slog.NewRecord(time.Now(), slog.LevelWarn, msg, 0)
	record.Add(args...)
	select {
	case q.records <- record:
	default: // full: nobody has read for a long time
	}
}

// close waits for the lines in the queue, but not for ever.
func (q *logQueue) close() {
	close(q.records)
	select {
	case <-q.done:
	case <-time.After(time.Second):
	}
}
