package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"
)

// life is when a pod was seen to be made and to become ready. The times in the pod's own status are whole seconds.
type life struct {
	uid         string
	made, ready time.Time
}

// watcher sees the pods named garm-0 of one namespace come.
type watcher struct {
	lock  sync.Mutex
	lives []life
}

// watchPods watches until the test ends.
func (s *space) watchPods() *watcher {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	body, err := node.open(ctx, "/api/v1/namespaces/"+s.name+"/pods?watch=1&fieldSelector=metadata.name%3Dgarm-0")
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	w, done := &watcher{}, make(chan struct{})
	s.t.Cleanup(func() {
		cancel()
		<-done
		_ = body.Close()
	})
	go func() {
		defer close(done)
		for events := json.NewDecoder(body); ; {
			var event struct {
				Object struct {
					Metadata struct{ UID string }
					Status   struct{ Conditions []condition }
				}
			}
			if events.Decode(&event) != nil {
				return
			}
			w.see(event.Object.Metadata.UID, event.Object.Status.Conditions)
		}
	}()
	return w
}

func (w *watcher) see(uid string, conditions []condition) {
	w.lock.Lock()
	defer w.lock.Unlock()
	i := slices.IndexFunc(w.lives, func(l life) bool { return l.uid == uid })
	if i < 0 {
		i = len(w.lives)
		w.lives = append(w.lives, life{uid: uid, made: time.Now()})
	}
	ready := slices.ContainsFunc(conditions, func(c condition) bool { return c.Type == "Ready" && c.Status == "True" })
	if ready && w.lives[i].ready.IsZero() {
		w.lives[i].ready = time.Now()
	}
}

// nth waits for the nth pod to become ready, the first is 1.
func (w *watcher) nth(t *testing.T, n int) life {
	t.Helper()
	var found life
	eventually(t, 90*time.Second, "the pod to be ready", func() error {
		w.lock.Lock()
		defer w.lock.Unlock()
		if len(w.lives) < n || w.lives[n-1].ready.IsZero() {
			return errNotReady
		}
		found = w.lives[n-1]
		return nil
	})
	return found
}

// median returns the one in the middle.
func median(durations []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[len(sorted)/2]
}
