package supervisor

import (
	"context"
	"log/slog"
	"time"
)

// logQueue keeps the loop from blocking on a log that nobody reads, such as a full pipe: signals and orphans come
// first. Its goroutine starts with the first line: most supervisors never say anything, and then their end has nothing
// to wait for.
type logQueue struct {
	logger  *slog.Logger // or nil
	records chan slog.Record
	done    chan struct{} // nil until the goroutine is started
}

func newLogQueue(logger *slog.Logger) *logQueue {
	return &logQueue{logger: logger, records: make(chan slog.Record, 64)}
}

// warn is called by the loop only, and by New before that runs.
func (q *logQueue) warn(msg string, args ...any) {
	if q.logger == nil || !q.logger.Enabled(context.Background(), slog.LevelWarn) {
		return
	}
	if q.done == nil {
		q.done = make(chan struct{})
		go q.write()
	}
	record := slog.NewRecord(time.Now(), slog.LevelWarn, msg, 0)
	record.Add(args...)
	select {
	case q.records <- record:
	default: // full: nobody has read for a long time
	}
}

func (q *logQueue) write() {
	defer close(q.done)
	for record := range q.records {
		// The handler's error has nowhere to go.
		_ = q.logger.Handler().Handle(context.Background(), record)
	}
}

// close waits for the lines in the queue, but not for ever.
func (q *logQueue) close() {
	close(q.records)
	if q.done == nil {
		return
	}
	select {
	case <-q.done:
	case <-time.After(time.Second):
	}
}
