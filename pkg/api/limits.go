package api

import (
	"net"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"
)

// burst is how many seconds' worth of messages a client may send at once: a dashboard
// subscribes to all that it shows when it has connected.
const burst = 10

// The names of limits, as metrics have them.
const (
	limitConnections       = "connections"
	limitClientConnections = "connections_per_client"
	limitSubscriptions     = "subscriptions"
	limitMessageBytes      = "message_bytes"
	limitMessageRate       = "messages_per_second"
	limitWriteSeconds      = "write_seconds"
)

// limits returns the values of limits, by name.
func (o *Options) limits() map[string]float64 {
	return map[string]float64{
		limitConnections:       float64(o.MaxConnections),
		limitClientConnections: float64(o.MaxClientConnections),
		limitSubscriptions:     float64(o.MaxSubscriptions),
		limitMessageBytes:      float64(o.MessageLimit),
		limitMessageRate:       o.MessageRate,
		limitWriteSeconds:      o.WriteTimeout.Seconds(),
	}
}

// crowd are the streams that are open. It is safe for concurrent use.
type crowd struct {
	most, mostOfClient int

	mu       sync.Mutex
	all      int
	byClient map[string]int
}

// enter takes a stream of a client in, or says which limit it would go beyond.
func (c *crowd) enter(client string) (beyond string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.all >= c.most:
		return limitConnections
	case c.byClient[client] >= c.mostOfClient:
		return limitClientConnections
	}
	if c.byClient == nil {
		c.byClient = make(map[string]int)
	}
	c.all++
	c.byClient[client]++
	return ""
}

func (c *crowd) leave(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.byClient[client]--; c.byClient[client] == 0 {
		delete(c.byClient, client)
	}
}

// clientOf names who is at the other end: until there is access control, an address.
func clientOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// crowded refuses a stream that would be one too many.
func (s *Server) crowded(limit string) *refusal {
	s.instruments.limited.WithLabelValues(limit).Inc()
	if limit == limitClientConnections {
		return tooMany("%d streams of this client are open, and no more are allowed", s.options.MaxClientConnections)
	}
	return tooMany("%d streams are open, and no more are allowed", s.options.MaxConnections)
}

func (s *Server) rates() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(s.options.MessageRate), max(1, int(s.options.MessageRate*burst)))
}

// turnAway tells a websocket's client that it is one too many. A browser does not
// show to its page with which status an upgrade was refused, so it is upgraded first.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, f family, upgrader *websocket.Upgrader, why *refusal) {
	s.instruments.refused.WithLabelValues(why.Reason).Inc()
	wire := &wire{}
	conn, err := upgrader.Upgrade(hijacker{w, wire}, r, nil)
	if err != nil {
		return // the upgrader has answered, or the client has left
	}
	socket := &socket{server: s, conn: conn, wire: wire, raw: raw(wire.Conn)}
	if f == familyCountd {
		_ = socket.write(why.frame().text(), s.closeTimeout())
	}
	_ = socket.write(controlFrame(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseTryAgainLater, why.Message)), s.closeTimeout())
	socket.linger()
	_ = wire.Close()
}
