package main

import (
	"errors"
	"fmt"
	"slices"
)

// fail prints an error that ends the program before it has a logger, one line per fault, and returns its exit code.
func (a *app) fail(err error) int {
	a.printFaults(err)
	var usage *usageError
	var coded interface{ ExitCode() int } // a program that cannot be run, a signal
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return exitConfig
}

// printFaults prints each fault once, whoever found it.
func (a *app) printFaults(err error) {
	var said []string
	for _, fault := range faultsOf(err) {
		if text := fault.Error(); !slices.Contains(said, text) {
			said = append(said, text)
			fmt.Fprintf(a.stderr, "garm-entrypoint: %s\n", text)
		}
	}
}

// faultsOf takes joined errors apart, so that each stands on a line.
func faultsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, faultsOf(e)...)
	}
	return all
}
