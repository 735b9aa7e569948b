package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain lets scripts run the program as a process of its own.
func TestMain(m *testing.M) {
	leakChecked := leakCheck{m}
	testscript.Main(leakChecked, map[string]func(){
		"countd": func() {
			if err := Main(context.Background(), "v1.2.3", os.Args[1:], os.Stdout, os.Stderr); err != nil {
				fmt.Fprintln(os.Stderr, "countd:", err)
				os.Exit(1)
			}
		},
	})
}

type leakCheck struct{ m *testing.M }

func (l leakCheck) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts are what a person meets who gets something wrong: one clear line,
// exit code 1, no stack.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("KUBECONFIG", "")
			env.Setenv("KUBERNETES_SERVICE_HOST", "")
			return writeExpired(env.WorkDir)
		},
	})
}

// writeExpired writes a client certificate that expired in the year 2020.
func writeExpired(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(write("expired.crt", "CERTIFICATE", cert), write("expired.key", "EC PRIVATE KEY", private))
}
