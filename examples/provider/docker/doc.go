// Command garm-provider-docker is an external provider for garm on one machine: runners are containers of the local
// Docker Engine, each of which runs one job of a Gitea and ends. It speaks garm's provider protocol v0.1.0 and v0.1.1.
//
// The same program is what a runner's container starts with ("runner"): it is copied into it, fetches the registration
// from garm, registers the image's act_runner, tells garm, and becomes it.
package main
