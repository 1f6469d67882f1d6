package provision

// Then is this result and that of trying again: what was done adds up, and what is left is what is left now.
func (r *Result) Then(next *Result) *Result {
	sum := *next
	sum.Created += r.Created
	sum.Updated += r.Updated
	sum.Deleted += r.Deleted
	sum.Took += r.Took
	sum.Changes = append(append([]Change(nil), r.Changes...), next.Changes...)
	return &sum
}
