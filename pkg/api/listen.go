package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// errNotLoopback is why an address is refused.
var errNotLoopback = errors.New("countd cannot tell who is asking yet, so it shows its counts to this machine only; " +
	"allowed are localhost, addresses in 127.0.0.0/8, [::1] and names that resolve to nothing else")

// Listen listens on a TCP address that only this machine can reach, and refuses
// any other: counts are shown to whoever asks. A port of 0 chooses a free one.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: want host:port: %w", addr, err)
	}
	ip, err := loopback(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", addr, err)
	}
	// Peers that vanish without a word are found after 15 + 3 × 10 s.
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 10 * time.Second, Count: 3,
	}}
	// The address, not the name: it could resolve to another the next time.
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", addr, err)
	}
	return listener, nil
}

// loopback returns the address to listen on for a host, all of whose addresses
// must be loopback ones.
func loopback(ctx context.Context, host string) (netip.Addr, error) {
	if host == "" {
		return netip.Addr{}, fmt.Errorf("no host means every address of this machine: %w", errNotLoopback)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if !ip.IsLoopback() {
			return netip.Addr{}, errNotLoopback
		}
		return ip, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("resolving %q: %w", host, err)
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return netip.Addr{}, fmt.Errorf("%s is %s: %w", host, ip.Unmap(), errNotLoopback)
		}
	}
	for _, ip := range ips {
		if ip.Unmap().Is4() {
			return ip.Unmap(), nil // what most clients try first
		}
	}
	return ips[0], nil
}

// checkListener refuses a listener that other machines can reach. What is not
// TCP, such as a Unix socket or one in memory, is the caller's own to protect.
func checkListener(l net.Listener) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return fmt.Errorf("serving on %s: %w", tcp, errNotLoopback)
	}
	return nil
}

// localName says whether a host, without its port, names this machine whatever
// a name server says.
func localName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761, 6.3
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}
