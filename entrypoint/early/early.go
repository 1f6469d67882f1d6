package early

import (
	"os"

	"garm-entrypoint/supervisor/threads"
)

func init() {
	if supervises(os.Args) {
		go threads.Reserve()
	}
}

// supervises reports whether a command line will need a supervisor, as far as
// its first word tells. The supervisor reserves its threads itself as well, so a
// wrong answer costs time and nothing else.
func supervises(args []string) bool {
	if len(args) < 2 {
		return true
	}
	switch args[1] {
	case "healthcheck", "watch", "init", "check", "version", "help", "-h", "--help":
		return false
	}
	return true
}
