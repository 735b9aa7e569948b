package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Names of the files in the data directory.
const (
	caCert            = "ca.crt" // signs the server and its clients
	caKey             = "ca.key"
	servingCert       = "serving.crt"
	servingKey        = "serving.key"
	adminCert         = "admin.crt" // group system:masters
	adminKey          = "admin.key"
	adminKubeconfig   = "admin.kubeconfig"
	proxyCACert       = "front-proxy-ca.crt" // a CA of its own, or any client could speak for others
	proxyCAKey        = "front-proxy-ca.key"
	proxyCert         = "front-proxy.crt"
	proxyKey          = "front-proxy.key"
	serviceAccountKey = "service-account.key"

	proxyUser = "front-proxy"
	validity  = 10 * 365 * 24 * time.Hour
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writeFiles makes all keys and certificates on the first run, and the
// kubeconfig on every one, since the port may have changed.
func writeFiles(url string) error {
	// serviceAccountKey is written last: where it is, the others are.
	if _, err := os.Stat(serviceAccountKey); errors.Is(err, fs.ErrNotExist) {
		if err := writeKeys(); err != nil {
			return fmt.Errorf("making keys and certificates: %w", err)
		}
	}
	return writeKubeconfig(url)
}

// writeKubeconfig puts the certificates into the file, so that it can be copied.
func writeKubeconfig(url string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["kube"] = &clientcmdapi.Cluster{Server: url, CertificateAuthority: caCert}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificate: adminCert, ClientKey: adminKey}
	config.Contexts["kube"] = &clientcmdapi.Context{Cluster: "kube", AuthInfo: "admin"}
	config.CurrentContext = "kube"
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return fmt.Errorf("reading certificates for the kubeconfig: %w", err)
	}
	if err := clientcmd.WriteToFile(*config, adminKubeconfig); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func writeKeys() error {
	ca, err := newAuthority("kube-ca", caCert, caKey)
	if err != nil {
		return err
	}
	err = ca.sign(servingCert, servingKey, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
	})
	if err != nil {
		return err
	}
	err = ca.sign(adminCert, adminKey, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	proxyCA, err := newAuthority("front-proxy-ca", proxyCACert, proxyCAKey)
	if err != nil {
		return err
	}
	err = proxyCA.sign(proxyCert, proxyKey, &x509.Certificate{
		Subject:     pkix.Name{CommonName: proxyUser},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the service account key: %w", err)
	}
	return writePEM(serviceAccountKey, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

func newAuthority(name, certFile, keyFile string) (*authority, error) {
	ca := &authority{}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return ca, ca.sign(certFile, keyFile, template)
}

// sign writes a new key and its certificate. An authority without a certificate
// signs its own.
func (a *authority) sign(certFile, keyFile string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of %s: %w", certFile, err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return fmt.Errorf("making the serial number of %s: %w", certFile, err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(validity)
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	parent, parentKey := a.cert, a.key
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return fmt.Errorf("signing %s: %w", certFile, err)
	}
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return fmt.Errorf("reading %s back: %w", certFile, err)
		}
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key of %s: %w", certFile, err)
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(keyFile, "EC PRIVATE KEY", keyDER)
}

func writePEM(file, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("writing a key or certificate: %w", err)
	}
	return nil
}
