package api

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// family is one of the two languages that countd speaks.
type family string

const (
	familyCountd family = "countd"
	familySteve  family = "steve"
)

// instruments are what the server says about itself at /metrics. Its labels have
// values of the server's choosing only.
type instruments struct {
	open, subscriptions, views  *prometheus.GaugeVec
	limit                       *prometheus.GaugeVec
	limited                     *prometheus.CounterVec
	opened, frames, bytes, slow *prometheus.CounterVec
	gone                        *prometheus.CounterVec
	flushes, encoded            *prometheus.CounterVec
	refused, ended              *prometheus.CounterVec
}

func newInstruments(registerer prometheus.Registerer) (*instruments, error) {
	const namespace, subsystem = "countd", "api"
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	i := &instruments{
		open:          gauge("open_connections", "Streams that are open now.", "family", "transport"),
		subscriptions: gauge("open_subscriptions", "Subscriptions of open streams.", "family"),
		views:         gauge("open_views", "Different views that subscriptions share.", "family"),
		opened:        counter("connections_total", "Streams that were opened.", "family", "transport"),
		frames:        counter("sent_frames_total", "Messages that clients of streams accepted.", "family", "transport"),
		bytes:         counter("sent_bytes_total", "Bytes of those messages, without framing.", "family", "transport"),
		slow:          counter("slow_readers_total", "Streams that were cut because their client did not accept a message within the write timeout.", "family", "transport"),
		gone:          counter("gone_clients_total", "Streams that were cut because their client's machine acknowledged nothing for two ping intervals.", "family", "transport"),
		flushes:       counter("flushes_total", "Times that a view was looked at, because there was a newer snapshot or a client wanted one, by whether anything was sent.", "family", "outcome"),
		encoded:       counter("encoded_frames_total", "Messages with counts that were made, each once for all clients that are sent it.", "family"),
		refused:       counter("refused_requests_total", "Requests that were refused, by Kubernetes' word for the reason.", "reason"),
		limit:         gauge("limit", "What clients are held to, by limit.", "limit"),
		limited:       counter("limited_total", "Times that a limit was met: a stream or a subscription was refused, or a stream was ended.", "limit"),
		ended:         counter("ended_subscriptions_total", "Subscriptions of steve's family that the server ended with an error.", "reason"),
	}
	for _, c := range []prometheus.Collector{i.open, i.subscriptions, i.views, i.opened, i.frames, i.bytes, i.slow, i.gone, i.flushes, i.encoded, i.refused, i.ended, i.limit, i.limited} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("registering the API's metrics: %w", err)
		}
	}
	return i, nil
}

// Why streams end, besides what transports and clients have to say.
var (
	errDraining = errors.New("the server shuts down")
	errSlow     = errors.New("the client accepted nothing for too long")
	errGone     = errors.New("the client's machine acknowledges nothing")
)

// meter counts for one stream, without looking labels up.
type meter struct {
	family              family
	open                prometheus.Gauge
	frames, bytes, slow prometheus.Counter
	gone, limited       prometheus.Counter // limited with slow
}

// meter counts a stream as opened. Its open gauge is the caller's to take down.
func (i *instruments) meter(f family, transport string) *meter {
	labels := prometheus.Labels{"family": string(f), "transport": transport}
	i.opened.With(labels).Inc()
	i.open.With(labels).Inc()
	return &meter{
		family: f,
		open:   i.open.With(labels),
		frames: i.frames.With(labels),
		bytes:  i.bytes.With(labels),
		slow:   i.slow.With(labels),
		gone:   i.gone.With(labels),

		limited: i.limited.WithLabelValues(limitWriteSeconds),
	}
}

// sent counts a message that was accepted.
func (m *meter) sent(bytes int) {
	m.frames.Inc()
	m.bytes.Add(float64(bytes))
}

// wrote says why a write to the client failed, if it did.
func (m *meter) wrote(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		m.slow.Inc()
		m.limited.Inc()
		return errSlow
	case err != nil:
		return fmt.Errorf("writing to the client: %w", err)
	default:
		return nil
	}
}

// silent is how many ping intervals a machine may acknowledge nothing of what was sent.
const silent = 2

// lives says whether the other side's machine seems to be there; it is asked once a
// ping interval.
func (m *meter) lives(conn rawConn, interval time.Duration) bool {
	if conn == nil || silence(conn) < silent*interval {
		return true
	}
	m.gone.Inc()
	return false
}

// viewMeter counts for one view.
type viewMeter struct{ flushesSent, flushesSkipped, frames prometheus.Counter }

func (i *instruments) viewMeter(f family) viewMeter {
	return viewMeter{
		flushesSent:    i.flushes.WithLabelValues(string(f), "sent"),
		flushesSkipped: i.flushes.WithLabelValues(string(f), "skipped"),
		frames:         i.encoded.WithLabelValues(string(f)),
	}
}

// flushed counts a look at the view.
func (m viewMeter) flushed(sent bool) {
	if sent {
		m.flushesSent.Inc()
	} else {
		m.flushesSkipped.Inc()
	}
}

// encoded counts a message that was made.
func (m viewMeter) encoded() { m.frames.Inc() }
