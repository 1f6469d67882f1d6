package early

import (
	"os"
	"slices"

	"garm-entrypoint/supervisor/threads"
)

func init() {
	if spare := spareFor(os.Args); spare > 0 {
		go threads.Reserve(spare)
	}
}

// spareFor is how many spare threads a command line needs, as far as its first word tells: none where nothing is
// supervised, and few where nothing is initialised beside. The supervisor reserves threads itself as well, so a missing
// answer costs time and nothing else.
func spareFor(args []string) int {
	if len(args) < 2 {
		return threads.Busy
	}
	switch word := args[1]; {
	case slices.Contains([]string{"healthcheck", "watch", "init", "check", "version", "help"}, word):
		return 0
	case word == "run" || word == "garm" || word == "" || word[0] == '-':
		return threads.Busy
	}
	return threads.Idle
}
