package provision

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Place is where something stands in a provision file.
type Place struct {
	File string
	Line int // from 1
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Fault is something wrong with a provision file. Its text says what to write instead and never shows a secret.
type Fault struct {
	Place Place
	Text  string
}

func (f *Fault) Error() string {
	if f.Place.Line == 0 {
		return fmt.Sprintf("cannot use %s: %s", f.Place.File, f.Text)
	}
	return fmt.Sprintf("cannot use %s: %s", f.Place, f.Text)
}

// faults collects what is wrong, so that all of it is said at once.
type faults struct{ list []*Fault }

func (f *faults) add(at Place, format string, args ...any) {
	f.list = append(f.list, &Fault{Place: at, Text: fmt.Sprintf(format, args...)})
}

// err joins the faults in the order of files and lines; nil when there are none.
func (f *faults) err() error {
	slices.SortStableFunc(f.list, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line))
	})
	all := make([]error, 0, len(f.list))
	for _, fault := range f.list {
		all = append(all, fault)
	}
	return errors.Join(all...)
}
