package linequeue

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// gate is a writer that blocks until it is opened.
type gate struct {
	open chan struct{}
	text strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

func TestLineQueue(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	q := New(g)
	for n := range queuedLines + 10 {
		fmt.Fprintf(q, "line %d\n", n) // none of these may block
	}
	close(g.open)
	q.Flush()
	if text := g.text.String(); !strings.HasPrefix(text, "line 0\nline 1\n") && !strings.HasPrefix(text, "line 0\ngarm-entrypoint: ") || !strings.Contains(text, "lines were dropped") {
		t.Errorf("wrote %.200q", text)
	}
	stuck := New(&gate{open: make(chan struct{})})
	fmt.Fprintln(stuck, "x")
	begin := time.Now()
	stuck.Flush()
	if took := time.Since(begin); took > 10*flushTimeout {
		t.Errorf("flush took %v", took)
	}
}
