// Package linequeue holds the lines of a log for a reader who may be slow or gone, and never makes who writes them
// wait.
package linequeue
