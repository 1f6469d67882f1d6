// Package fakegarm is a garm API for what the real garm cannot be made to do: other versions, odd answers, lost races.
// It answers as measured on the real servers of each version (who answers what before and after the first run). The
// truth is the real garm; a test that can use it should.
package fakegarm
