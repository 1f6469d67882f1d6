// Command act_runner stands in for Gitea's runner of that name, whose module is not to be had: it speaks the same
// protocol and takes the same arguments as far as the tests need them, and runs the sh steps of one job.
package main
