package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countd/countd/bench/apiserver"
	"github.com/countd/countd/bench/process"
)

// writing is so many creations, in namespaces one after the other, from 0 on.
type writing struct {
	number     int
	rate       float64
	namespaces int
	step       int // from one namespace to the next
}

// namespace is that of a creation.
func (w writing) namespace(i int) int { return i % w.namespaces * w.step }

// begin starts a process that writes. It is waited for with the function that it
// returns, which says when each object was about to be written.
func (w writing) begin(ctx context.Context, api string) (wait func() ([]time.Time, error), err error) {
	child, err := process.Start(ctx, "-role", writerRole, "-server", api, "-writes", strconv.Itoa(w.number),
		"-rate", strconv.FormatFloat(w.rate, 'g', -1, 64), "-namespaces", strconv.Itoa(w.namespaces), "-step", strconv.Itoa(w.step))
	if err != nil {
		return nil, err
	}
	return func() (written []time.Time, err error) {
		var nanos []int64
		line, err := child.Line()
		if err == nil {
			err = json.Unmarshal([]byte(line), &nanos)
		}
		for _, n := range nanos {
			written = append(written, time.Unix(0, n))
		}
		return written, errors.Join(err, child.Stop())
	}, nil
}

// do writes them all, and returns when each was about to be written.
func (w writing) do(ctx context.Context, api string) ([]time.Time, error) {
	wait, err := w.begin(ctx, api)
	if err != nil {
		return nil, err
	}
	return wait()
}

// write is the process that writes: it says, in nanoseconds of the clock, when.
func (o options) write(ctx context.Context) error {
	w := writing{number: o.writes, rate: o.rate, namespaces: o.server.Namespaces, step: o.step}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	written := make([]int64, w.number)
	began := time.Now()
	for i := range written {
		due := began.Add(time.Duration(float64(i) / w.rate * float64(time.Second)))
		if early := time.Until(due); early > 0 {
			if err := pause(ctx, early); err != nil {
				return err
			}
		}
		written[i] = time.Now().UnixNano()
		if err := create(ctx, transport, o.host.URL, w.namespace(i)); err != nil {
			return err
		}
	}
	return json.NewEncoder(o.out).Encode(written)
}

// create creates one object.
func create(ctx context.Context, transport http.RoundTripper, api string, namespace int) error {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"bench-"}}`
	url := api + "/api/v1/namespaces/" + apiserver.NamespaceName(namespace) + "/configmaps"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(object))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("creating an object: %w", err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("creating an object: %w", err)
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("creating an object: %s", response.Status)
	}
	return nil
}
