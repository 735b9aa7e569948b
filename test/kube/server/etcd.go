package main

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// etcdClientURL and etcdPeerURL name sockets in the working directory.
	etcdClientURL = "unix://etcd.sock"
	etcdPeerURL   = "unix://etcd-peer.sock"

	// etcdQuota is the size in bytes at which etcd refuses writes: its documented
	// maximum, since benchmarks fill it.
	etcdQuota = 8 << 30
)

// startEtcd returns once etcd takes requests. The caller closes it.
func startEtcd(ctx context.Context, unsafeNoFsync bool) (*embed.Etcd, error) {
	client, err := url.Parse(etcdClientURL)
	if err != nil {
		return nil, fmt.Errorf("parsing etcd's client address: %w", err)
	}
	peer, err := url.Parse(etcdPeerURL)
	if err != nil {
		return nil, fmt.Errorf("parsing etcd's peer address: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = "etcd"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.QuotaBackendBytes = etcdQuota
	cfg.UnsafeNoFsync = unsafeNoFsync
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{"stderr"}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	etcd.Close()
	return nil, fmt.Errorf("waiting for etcd to elect itself: %w", err)
}
