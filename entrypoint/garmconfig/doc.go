// Package garmconfig reads garm's config.toml: where the API listens, TLS, database, logging, providers. It says what
// garm would refuse, and what garm would accept and then fail on in silence. It also derives the config of a guarded
// boot.
//
// The rules are those of garm v0.2.1 (its package config), read with the same TOML library. Keys that are not needed
// here are not looked at, so that configs of every garm from v0.1.4 on can be read.
package garmconfig
