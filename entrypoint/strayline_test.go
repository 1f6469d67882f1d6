package main

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// A line that a library logs, here net/http on an answer that nobody asked for, goes the way of our own: it does not
// end us when nobody reads stderr any more.
func TestLibraryLogsToNobody(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	requests := make(chan struct{}, 100)
	go answerTwice(l, requests)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	p := testgarm.Start(t, "/bin/sh", []string{"-c", fmt.Sprintf(`exec "$0" watch 2>/proc/%d/fd/%d`, os.Getpid(), w.Fd()), testgarm.Entrypoint(t)},
		[]string{"GARM_SERVER=http://" + l.Addr().String(), "GARM_PASSWORD=" + testgarm.Canary, "GARM_CONFIG=" + t.TempDir() + "/none"})
	for range 3 { // the first stray answer comes before the second request
		select {
		case <-requests:
		case <-p.Ended():
			t.Fatalf("it has ended with %d", p.Wait(patience))
		case <-time.After(patience):
			t.Fatal("no request")
		}
	}
}

// answerTwice gives every request an answer that makes it be sent again, and behind it another one, which is found when
// the connection is idle.
func answerTwice(l net.Listener, requests chan<- struct{}) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for buf := make([]byte, 64<<10); ; {
				if _, err := conn.Read(buf); err != nil {
					return
				}
				requests <- struct{}{}
				fmt.Fprint(conn, "HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"+
					"HTTP/1.1 200 stray\r\n\r\n")
			}
		}()
	}
}
