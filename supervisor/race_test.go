//go:build race

package supervisor

// underRace: fork(2) copies the race detector's shadow memory as well, which makes 20,000 of them take minutes.
const underRace = true
