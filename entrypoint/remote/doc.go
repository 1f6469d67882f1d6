// Package remote says how the server at GARM_SERVER, which others run, is reached and trusted: its URL, its
// certificate, a proxy on the way, and where the password for it is kept. It is for the commands that start no garm of
// their own; the one that we start ourselves is garm-entrypoint/entrypoint/boot's.
//
// It stands on initializer, settings, state and garmconfig, and knows no processes.
package remote
