package app

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// connectTimeout is how long the API server may take to say its version.
const connectTimeout = 10 * time.Second

// clientConfig finds the API server, and the namespace that countd is in there, by
// client-go's usual rules.
func clientConfig(kubeconfig, contextName string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: contextName}
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err = found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", errors.New("no cluster: give --kubeconfig, set $KUBECONFIG, have a ~/.kube/config, or run in a Pod with a service account")
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if namespace, _, err = found.Namespace(); err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig's context: %w", err)
	}
	config.UserAgent = "countd"
	return config, namespace, nil
}

// connect asks the API server who it is, so that what is wrong with the way to it
// is said once and clearly.
func connect(ctx context.Context, config *rest.Config) (*version.Info, error) {
	if err := certificateValid(config, time.Now()); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = connectTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	info, err := client.ServerVersionWithContext(ctx)
	var inURL *url.Error
	switch {
	case err == nil:
		return info, nil
	case apierrors.IsUnauthorized(err):
		return nil, fmt.Errorf("the API server %s does not accept the credentials given: %w", config.Host, err)
	case errors.As(err, &inURL):
		return nil, fmt.Errorf("cannot reach the API server %s: %w", config.Host, inURL.Err)
	default:
		return nil, fmt.Errorf("asking the API server %s for its version: %w", config.Host, err)
	}
}

// certificateValid says of a client certificate when it expired: the API server
// would only say that it wants credentials.
func certificateValid(config *rest.Config, now time.Time) error {
	raw, from := config.CertData, "client certificate in the kubeconfig"
	if len(raw) == 0 && config.CertFile != "" {
		from = "client certificate " + config.CertFile
		var err error
		if raw, err = os.ReadFile(config.CertFile); err != nil {
			return fmt.Errorf("reading the client certificate: %w", err)
		}
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil // there is none, or one that client-go will complain of
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("parsing the %s: %w", from, err)
	}
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("the %s expired on %s", from, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}
