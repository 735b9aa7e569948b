package interop

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

//go:embed client
var client embed.FS

// programs are built by the first test that asks for one.
type programs struct {
	countd, dashboard program

	mu  sync.Mutex
	dir string
}

type program struct {
	once sync.Once
	path string
	err  error
}

func (p *program) get(t testing.TB, build func(context.Context) (string, error)) string {
	t.Helper()
	// Not the test's context: the other tests need it too.
	p.once.Do(func() { p.path, p.err = build(context.Background()) }) //nolint:usetesting // see above
	must(t, p.err)
	return p.path
}

// server is the path of countd.
func (p *programs) server(t testing.TB) string {
	return p.countd.get(t, func(ctx context.Context) (string, error) {
		dir, err := os.MkdirTemp("", "countd-interop-") //nolint:usetesting // the other tests run it too
		if err != nil {
			return "", err
		}
		p.mu.Lock()
		p.dir = dir
		p.mu.Unlock()
		path := filepath.Join(dir, "countd")
		return path, run(ctx, ".", "go", "build", "-o", path, "../../cmd/countd")
	})
}

// client is the path of the dashboard's store, one file of JavaScript, kept in the
// user's cache: the packages that it is made of have to be had from the network.
func (p *programs) client(t testing.TB) string {
	return p.dashboard.get(t, func(ctx context.Context) (string, error) {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		version, err := clientVersion()
		if err != nil {
			return "", err
		}
		path := filepath.Join(cache, "countd", "dashboard-"+version+".js")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		return path, buildClient(ctx, path)
	})
}

func (p *programs) remove() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// clientVersion changes with what the client is made of.
func clientVersion() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(client, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := client.ReadFile(path)
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// buildClient leaves a whole file or none.
func buildClient(ctx context.Context, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "dashboard-") // where a rename is one step
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, err := fs.Sub(client, "client")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	if err := run(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	if err := run(ctx, dir, "node", "build.js", "bundle.js"); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "bundle.js"), path)
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s %v: %w\n%s", name, args, err, out)
	}
	return nil
}
