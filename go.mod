module github.com/countd/countd

go 1.26.0

require (
	github.com/evanphx/json-patch/v5 v5.9.11 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/gorilla/websocket v1.5.4-0.20250319132907-e064f32e3674 // indirect
	github.com/prometheus/client_golang v1.24.0 // indirect
	github.com/rancher/wrangler/v3 v3.8.0 // indirect
	github.com/spf13/pflag v1.1.0 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	k8s.io/api v0.37.2 // indirect
	k8s.io/apimachinery v0.37.2 // indirect
	k8s.io/client-go v0.37.2 // indirect
	k8s.io/component-helpers v0.37.2 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
