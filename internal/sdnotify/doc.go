// Package sdnotify tells a service manager such as systemd how its service is, by the datagrams of sd_notify(3).
package sdnotify
