package provision

import "fmt"

// Store keeps what a Memory remembers from one process to the next. It holds no secret but the key of its fingerprints.
type Store interface {
	// Load returns what is kept; nil: nothing is.
	Load() ([]byte, error)
	// Save keeps it durably, in place of what was kept.
	Save(data []byte) error
}

// Recall returns the memory that a store keeps, or a new one. What is damaged is worth no more than nothing: the error
// says so, and the memory is a new one then, which costs that each secret is sent once more and that nothing is pruned.
func Recall(s Store) (*Memory, error) {
	data, err := s.Load()
	if err == nil && data == nil {
		return NewMemory(), nil
	}
	var memory *Memory
	if err == nil {
		memory, err = ParseMemory(data)
	}
	if err != nil {
		return NewMemory(), fmt.Errorf("each secret is sent once more, and nothing is pruned: %w", err)
	}
	return memory, nil
}

// KeepIn keeps a memory in a store, for Applier.Keep.
func KeepIn(s Store) func(*Memory) error {
	return func(m *Memory) error {
		data, err := m.Encode()
		if err != nil {
			return err
		}
		return s.Save(data)
	}
}
