// Package dockertest lets tests use the engine by the docker command line. Its one job is to call docker and to say
// what came of it; which images and containers a test needs is the test's own affair. It is imported by tests only,
// those of nested modules too.
package dockertest
