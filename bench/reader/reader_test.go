package reader

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/countd/countd/bench/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestReadersReadEverything: each reader ends up with what there is, also after it had
// to list anew.
func TestReadersReadEverything(t *testing.T) {
	for _, kind := range []string{"Pod", "ConfigMap"} {
		for _, name := range Names() {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				handler, err := apiserver.New(apiserver.Options{Objects: 1000, Namespaces: 20, Changes: 30, Kind: kind})
				if err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer(handler)
				defer server.Close()
				r, err := New(name, server.URL, kind)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				for _, m := range []func() apiserver.Moment{handler.Moment, func() apiserver.Moment { return handler.Expire(10) }} {
					await(t, r, m())
				}
				stop()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

func await(t *testing.T, r Reader, m apiserver.Moment) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !r.Holds(m) {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%d objects, want %+v", r.Objects(), m)
		}
	}
	if n := r.Objects(); n != m.Objects || !r.Listed() {
		t.Errorf("%d objects, want %d", n, m.Objects)
	}
}
