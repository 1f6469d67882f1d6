package initializer_test

import "net/http"

// party is one of two clients whose requests are put into an order.
type party struct {
	// run is what it does, over the transport that it is given.
	run func(http.RoundTripper)
	// arrived says that it wants to send a request, granted that it may.
	arrived, granted, done chan struct{}
	ended                  bool
}

func newParty(run func(http.RoundTripper)) *party {
	return &party{run: run, arrived: make(chan struct{}), granted: make(chan struct{}), done: make(chan struct{})}
}

// gate holds each request until it is granted; a party that has ended needs no grant.
type gate struct {
	*party
	next http.RoundTripper
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.ended {
		return g.next.RoundTrip(r)
	}
	g.arrived <- struct{}{}
	<-g.granted
	return g.next.RoundTrip(r)
}

// await waits for the party's next request, or its end.
func (p *party) await() {
	select {
	case <-p.arrived:
	case <-p.done:
		p.ended = true
	}
}

// interleave runs both, one request at a time. turn is asked before each request for which both are ready whether it is
// the other's.
func interleave(parties [2]*party, next http.RoundTripper, turn func() bool) {
	for _, p := range parties {
		go func() {
			defer close(p.done)
			p.run(gate{p, next})
		}()
	}
	for _, p := range parties {
		p.await()
	}
	for now := 0; ; {
		p, other := parties[now], parties[1-now]
		switch {
		case p.ended && other.ended:
			return
		case p.ended, !other.ended && turn():
			now = 1 - now
			continue
		}
		p.granted <- struct{}{}
		p.await()
	}
}

// inEveryOrder calls run with one turn function after the other, until each order with at most so many turns has been
// taken; it returns how many there were.
func inEveryOrder(most int, run func(turn func() bool)) (orders int) {
	var path []bool
	for {
		n, turned := 0, false
		run(func() bool {
			if turned {
				// Having its turn, it takes it.
				turned = false
				return false
			}
			if n == len(path) {
				path = append(path, false)
			}
			n++
			turned = path[n-1]
			return turned
		})
		orders++
		for {
			for len(path) > 0 && path[len(path)-1] {
				path = path[:len(path)-1]
			}
			if len(path) == 0 {
				return orders
			}
			path[len(path)-1] = true
			if count(path) <= most {
				break
			}
		}
	}
}

func count(path []bool) (turns int) {
	for _, turn := range path {
		if turn {
			turns++
		}
	}
	return turns
}
