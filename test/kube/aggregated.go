package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const headerTimeout = 10 * time.Second

// AggregatedAPI is an API that an http.Handler in this process answers and the
// cluster's API server passes on to.
type AggregatedAPI struct {
	name    string // of the APIService
	service string // in namespace kube-system
	cluster *Cluster
	server  *http.Server
	served  chan error // what Serve returned
}

// RegisterAPI serves a group's version with the handler and returns when it
// answers through the API server. The handler gets the paths below
// /apis/GROUP/VERSION, of which /apis/GROUP/VERSION itself must be an
// APIResourceList, and the user in the headers X-Remote-User and X-Remote-Group.
// Close ends it.
func (c *Cluster) RegisterAPI(ctx context.Context, gv schema.GroupVersion, handler http.Handler) (*AggregatedAPI, error) {
	a := &AggregatedAPI{
		name:    gv.Version + "." + gv.Group,
		service: strings.ReplaceAll(gv.Group, ".", "-") + "-" + gv.Version,
		cluster: c,
		served:  make(chan error, 1),
	}
	listener, err := a.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("serving %s: %w", gv, err)
	}
	a.server = &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	go func() { a.served <- a.server.Serve(listener) }()
	if err := a.register(ctx, gv, listener.Addr()); err != nil {
		return nil, errors.Join(fmt.Errorf("registering %s: %w", gv, err), a.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// Shutdown ends the backend and leaves the API registered, so that it is one that
// is down.
func (a *AggregatedAPI) Shutdown() error {
	if err := a.server.Close(); err != nil {
		return fmt.Errorf("closing the backend of %s: %w", a.name, err)
	}
	if err := <-a.served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the backend of %s: %w", a.name, err)
	}
	a.served <- http.ErrServerClosed // for the next call
	return nil
}

// Close removes the API from the cluster and ends the backend.
func (a *AggregatedAPI) Close(ctx context.Context) error {
	return errors.Join(a.unregister(ctx), a.Shutdown())
}

func (a *AggregatedAPI) listen(ctx context.Context) (net.Listener, error) {
	pair, err := a.cluster.users.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: a.service},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{a.service + "." + metav1.NamespaceSystem + ".svc"},
	})
	if err != nil {
		return nil, fmt.Errorf("making its certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, fmt.Errorf("reading its certificate: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}), nil
}

// register points an APIService at a Service of type ExternalName, since the
// addresses of endpoints may not be loopback ones. An external name may be an
// address, and its port is the APIService's.
func (a *AggregatedAPI) register(ctx context.Context, gv schema.GroupVersion, addr net.Addr) error {
	backend, ok := addr.(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("reading the backend's address %v: it is not TCP", addr)
	}
	services, apiServices, err := a.clients()
	if err != nil {
		return err
	}
	_, err = services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: a.service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: backend.IP.String()},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating its Service: %w", err)
	}
	_, err = apiServices.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": a.name},
		"spec": map[string]any{
			"group":                gv.Group,
			"version":              gv.Version,
			"groupPriorityMinimum": int64(1000),
			"versionPriority":      int64(10),
			"caBundle":             base64.StdEncoding.EncodeToString(a.cluster.users.caPEM),
			"service": map[string]any{
				"namespace": metav1.NamespaceSystem,
				"name":      a.service,
				"port":      int64(backend.Port),
			},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating its APIService: %w", err)
	}
	return await(ctx, a.cluster.AdminConfig(), a.name+" to answer", func(ctx context.Context, client kubernetes.Interface) error {
		return client.Discovery().RESTClient().Get().AbsPath("/apis/" + gv.String()).Do(ctx).Error()
	})
}

// unregister removes what there is.
func (a *AggregatedAPI) unregister(ctx context.Context) error {
	services, apiServices, err := a.clients()
	if err != nil {
		return err
	}
	return errors.Join(
		ignoreNotFound(apiServices.Delete(ctx, a.name, metav1.DeleteOptions{})),
		ignoreNotFound(services.Delete(ctx, a.service, metav1.DeleteOptions{})),
	)
}

func (a *AggregatedAPI) clients() (corev1client.ServiceInterface, dynamic.ResourceInterface, error) {
	config := a.cluster.AdminConfig()
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	other, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	return core.Services(metav1.NamespaceSystem), other.Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	}), nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
