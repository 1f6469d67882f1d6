package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/internal/fakegarm"
	"garm-entrypoint/supervisor/sigtrap"
)

// fakeVariable makes the re-executed test binary a garm that does what the real one cannot be made to do.
const fakeVariable = "FAKE_GARM"

func TestMain(m *testing.M) {
	// main.go imports the signal trap, which takes this process its Ctrl-C.
	sigtrap.Signals.Release()
	if mode := os.Getenv(fakeVariable); mode != "" {
		// On a busy machine the fake may be asked to stop before it is here: that signal is in the trap then.
		for mode == "silent" && sigtrap.Signals.Waiting() {
			if next, _ := sigtrap.Signals.Next(); next.Signal == syscall.SIGTERM {
				os.Exit(0)
			}
		}
		os.Exit(fakeGarm(mode))
	}
	os.Exit(m.Run())
}

// fakeGarm is a garm called as `garm --config PATH`. Its modes:
//
//	exit N        ends at once with that code
//	tell N        prints its arguments, environment and umask, and ends with that code
//	kill N        is ended by that signal
//	silent        never listens
//	taken         listens, and has an admin who is not ours
//	refuse        listens, and refuses the first run
//	stubborn      listens, and does not heed SIGTERM
//	late N        listens only after N seconds
//	hang          listens, answers twice, and then never again
func fakeGarm(mode string) int {
	word, number, _ := strings.Cut(mode, " ")
	n, _ := strconv.Atoi(number)
	switch word {
	case "exit":
		return n
	case "tell":
		fmt.Printf("args %q\n%s\numask %04o\n", os.Args[1:], strings.Join(os.Environ(), "\n"), syscall.Umask(0))
		return n
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "silent":
		awaitTerm()
		return 0
	}
	garm := fakegarm.New(fakegarm.V021)
	switch word {
	case "taken":
		garm.Users["admin"] = "somebody else's"
	case "refuse":
		garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/first-run") {
				fakegarm.Fail(w, 405, "Method Not Allowed", "there is no first run here")
				return true
			}
			return false
		}
	case "hang":
		answers := 0
		garm.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			if answers++; answers > 6 {
				<-r.Context().Done()
				return true
			}
			return false
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "late":
		time.Sleep(time.Duration(n) * time.Second)
	}
	// A guarded garm gets a pipe.
	data, err := os.ReadFile(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	config, err := garmconfig.Parse(os.Args[2], data)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(config.DialAddress(), garm))
		os.Exit(1)
	}()
	if word == "stubborn" {
		select {}
	}
	awaitTerm()
	return 0
}

func awaitTerm() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	select {
	case <-term:
	case <-time.After(time.Minute):
	}
}
