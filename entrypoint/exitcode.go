package main

import (
	"errors"

	"garm-entrypoint/entrypoint/initializer"
)

// Exit codes of our own; garm's codes and 128+N for signal N pass through. The numbers are those of sysexits(3) and of
// the shell (126, 127).
const (
	exitOK          = 0
	exitUnhealthy   = 1
	exitDifferences = 2
	exitUsage       = 64
	exitUnavailable = 69
	exitSoftware    = 70
	exitTempFail    = 75
	exitTakeover    = 77
	exitConfig      = 78
)

// exitCodes is the table that --help and docs/configuration.md show.
var exitCodes = []struct{ code, when string }{
	{"garm's own", "garm ended, by itself or after a signal that was forwarded; 128+N when signal N killed it, or when asked to stop before garm was started"},
	{"64", "wrong usage"},
	{"69", "the API did not come up, or a new server did not become initialised, within GARM_START_TIMEOUT; or the API fell silent for GARM_API_TIMEOUT. garm was stopped first"},
	{"70", "a new server refused the first run for a reason that neither a retry nor other configuration cures"},
	{"75", "of apply and init: part of what is declared could not be applied now; the rest is"},
	{"77", "takeover: the database was new, yet the server has an admin who is not ours. Of init: the credentials do not log in"},
	{"78", "the configuration was refused: by us before garm started, or by garm's verdict on the password"},
	{"126, 127", "the program to run cannot be executed; does not exist"},
}

// exitCodeOf maps an error of boot, remote or the initialiser to the contract.
func exitCodeOf(err error) int {
	var (
		refused  *initializer.RefusedError
		takeover *initializer.TakeoverError
		mismatch *initializer.MismatchError
		coded    interface{ ExitCode() int } // a program that cannot be run, a signal, our own failure
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &refused) && refused.Configuration:
		return exitConfig
	case errors.As(err, &refused):
		return exitSoftware
	case errors.As(err, &takeover), errors.As(err, &mismatch):
		return exitTakeover
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return exitUnavailable
}
