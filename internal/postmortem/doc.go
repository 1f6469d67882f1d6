// Package postmortem says why a process may have ended by itself, from what the system still knows afterwards: the
// limits of its control group (v1 and v2) and what they counted, its resource limits, its file system, its database.
// The same limits can be looked at beforehand. Nothing here runs while all is well.
package postmortem
