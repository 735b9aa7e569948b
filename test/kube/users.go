package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// certificateLife is longer than any test.
const certificateLife = 30 * 24 * time.Hour

// users mints a client certificate for each user, signed by the cluster's CA. It
// may be used by any goroutine.
type users struct {
	url   string
	caPEM []byte
	ca    tls.Certificate

	mu     sync.Mutex
	minted map[string]keyPair // by user and groups: one TLS transport for each
}

// keyPair is a certificate and its key in PEM.
type keyPair struct{ cert, key []byte }

func newUsers(ready readyLine) (*users, error) {
	ca, err := tls.LoadX509KeyPair(ready.CAFile, ready.CAKeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	caPEM, err := os.ReadFile(ready.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	return &users{url: ready.URL, caPEM: caPEM, ca: ca, minted: make(map[string]keyPair)}, nil
}

// Config is the caller's own configuration to talk to the cluster as any user in
// any groups. Besides them, the API server adds system:authenticated. A user has
// no rights until RBAC gives some. The configuration limits no request rate. It
// panics if the name cannot stand in a certificate, which holds UTF-8 only.
func (c *Cluster) Config(user string, groups ...string) *rest.Config {
	pair, err := c.users.pair(user, groups)
	if err != nil {
		panic(err)
	}
	return &rest.Config{
		Host:            c.users.url,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.users.caPEM, CertData: pair.cert, KeyData: pair.key},
		QPS:             -1,
	}
}

// WriteKubeconfig writes a file for the user that needs no other file.
func (c *Cluster) WriteKubeconfig(path, user string, groups ...string) error {
	rc := c.Config(user, groups...)
	config := clientcmdapi.NewConfig()
	config.Clusters["kube"] = &clientcmdapi.Cluster{Server: rc.Host, CertificateAuthorityData: rc.CAData}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: rc.CertData, ClientKeyData: rc.KeyData}
	config.Contexts["kube"] = &clientcmdapi.Context{Cluster: "kube", AuthInfo: user}
	config.CurrentContext = "kube"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of user %q: %w", user, err)
	}
	return nil
}

// Kubeconfig is the path of the administrator's file, which needs no other file.
func (c *Cluster) Kubeconfig() string { return c.ready.Kubeconfig }

func (u *users) pair(user string, groups []string) (keyPair, error) {
	id := user + "\x00" + strings.Join(groups, "\x00")
	u.mu.Lock()
	defer u.mu.Unlock()
	if pair, ok := u.minted[id]; ok {
		return pair, nil
	}
	pair, err := u.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return keyPair{}, fmt.Errorf("making a certificate for user %q in groups %q: %w", user, groups, err)
	}
	u.minted[id] = pair
	return pair, nil
}

// sign fills in the template and signs it with the cluster's CA.
func (u *users) sign(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return keyPair{}, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(certificateLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	cert, err := x509.CreateCertificate(rand.Reader, template, u.ca.Leaf, key.Public(), u.ca.PrivateKey)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
