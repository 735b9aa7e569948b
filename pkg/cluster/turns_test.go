package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// lists are lists of a test that take turns, in fake time.
type lists struct {
	turns *turns
	board *board
	all   sync.WaitGroup

	mu           sync.Mutex
	active, most int // that bring something, now and at most
}

func newLists() *lists {
	return &lists{turns: newTurns(), board: newBoard(slog.New(slog.DiscardHandler))}
}

func (l *lists) take(ctx context.Context, name string) (*turn, error) {
	return l.turns.take(ctx, l.board.report(counts.Resource{Name: name}))
}

// read is a list that is silent for a while, and then brings something every
// 100 ms for as long as it lasts.
func (l *lists) read(t *testing.T, name string, silent, lasts time.Duration) {
	l.all.Go(func() {
		turn, err := l.take(t.Context(), name)
		if err != nil {
			t.Error(err)
			return
		}
		defer turn.end()
		time.Sleep(silent)
		for range lasts / (100 * time.Millisecond) {
			if err := turn.goesOn(t.Context()); err != nil {
				t.Error(err)
				return
			}
			l.count(1)
			time.Sleep(100 * time.Millisecond)
			l.count(-1)
		}
	})
}

func (l *lists) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active += n
	l.most = max(l.most, l.active)
}

// TestListThatHangsGivesItsTurnUp: it does not keep the others waiting.
func TestListThatHangsGivesItsTurnUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		for i := range shortTurns {
			turn, err := l.take(t.Context(), fmt.Sprint("hangs", i))
			must(t, err)
			defer turn.end()
		}
		began := time.Now()
		turn, err := l.take(t.Context(), "waits")
		must(t, err)
		if waited := time.Since(began); waited != shortLasts {
			t.Errorf("waited %v for a turn", waited)
		}
		turn.end()
		turn.end() // once too often is harmless
	})
}

// TestListsAtOnceAreBounded: fifty lists go on for a minute each, half of them after
// they were silent. All end, and there are never more at once than turns.
func TestListsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		for i := range 50 {
			l.read(t, fmt.Sprint("large", i), time.Duration(i%2)*2*shortLasts, time.Minute)
		}
		l.all.Wait()
		if most := l.most; most < longTurns || most > shortTurns+longTurns {
			t.Errorf("%d lists at once", most)
		}
		if l.turns.short.free != shortTurns || l.turns.long.free != longTurns || len(l.turns.kept) != 0 {
			t.Errorf("turns are left: %d short, %d long, %d kept", l.turns.short.free, l.turns.long.free, len(l.turns.kept))
		}
	})
}

// TestSmallKindsDoNotStarve: a hundred lists that go on and on, of kinds that nobody
// knew to be large, leave turns to those that come then.
func TestSmallKindsDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		for i := range 100 {
			l.read(t, fmt.Sprint("large", i), 0, 10*time.Minute)
		}
		synctest.Wait()
		time.Sleep(3 * time.Minute) // each of the hundred has had its short turn
		for i := range 20 {
			began := time.Now()
			turn, err := l.take(t.Context(), fmt.Sprint("small", i))
			must(t, err)
			turn.end()
			if waited := time.Since(began); waited > shortLasts {
				t.Errorf("a small kind waited %v", waited)
			}
		}
		l.all.Wait()
	})
}

// TestKindsOfManyObjectsComeLast, but they too get their turn.
func TestKindsOfManyObjectsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		var holds []*turn
		for i := range shortTurns {
			turn, err := l.take(t.Context(), fmt.Sprint("first", i))
			must(t, err)
			holds = append(holds, turn)
		}
		var mu sync.Mutex
		var order []string
		take := func(name string) {
			l.all.Go(func() {
				turn, err := l.take(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				turn.end()
			})
			synctest.Wait()
		}
		take("pods")
		take("nodes")
		take("services")
		holds[0].end()
		l.all.Wait()
		if want := []string{"nodes", "services", "pods"}; !slices.Equal(order, want) {
			t.Errorf("order is %v, want %v", order, want)
		}
		for _, turn := range holds {
			turn.end()
		}
	})
}

// TestWaitForATurnEndsWithItsContext, for either kind of turn.
func TestWaitForATurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		want := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		for range longTurns {
			must(t, l.turns.long.take(t.Context(), time.Now()))
		}
		late, err := l.take(t.Context(), "late")
		must(t, err)
		time.Sleep(shortLasts + 1) // it is silent and has no turn any more
		for range shortTurns {
			must(t, l.turns.short.take(t.Context(), time.Now()))
		}
		l.all.Go(func() {
			if _, err := l.take(ctx, "x"); !errors.Is(err, want) {
				t.Errorf("waiting for a short turn: %v", err)
			}
		})
		l.all.Go(func() {
			if err := late.goesOn(ctx); !errors.Is(err, want) {
				t.Errorf("waiting for a long turn: %v", err)
			}
			late.end()
		})
		synctest.Wait()
		cancel(want)
		l.all.Wait()
		if n := len(l.turns.short.waiting) + len(l.turns.long.waiting); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}
