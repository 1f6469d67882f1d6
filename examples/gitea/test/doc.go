// Package test takes examples/gitea through the whole way on real parts: a Gitea, our image with the real garm, the
// provider whose runners are containers, and jobs that run. Only the runner is a stand-in.
package test
