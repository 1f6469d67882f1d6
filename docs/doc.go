// Package docs holds the pages for people, one a subject. Its only Go code is the tests that hold them: links, quotes
// and the README's length. The tables of options, commands, exit codes and versions are held where these are defined.
package docs
