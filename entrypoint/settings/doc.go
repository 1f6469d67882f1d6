// Package settings turns a command line's flags and an environment, which it is given, into one checked struct by one
// table of options. --help and the documents' tables are made from the same table.
//
// It stands on garm-entrypoint/entrypoint/initializer, whose rules for names and URLs it applies before anything
// starts, and on what garmconfig says garm's own config is. It opens no file but those that options name.
package settings
