// Package image holds what the image ships beside the programs: the config that garm gets when there is none, and where
// things live.
package image
