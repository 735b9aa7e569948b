package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	modulePath    = "github.com/countd/countd"
	binaryPrefix  = "kube-server-"
	buildProgress = 30 * time.Second    // between two lines of progress
	unusedLife    = 30 * 24 * time.Hour // of a binary of 135 MB in the cache
)

// Build returns the path of the server's binary, which it builds if this version
// of its source was not built before. Several processes may call it at once; one
// builds and the others wait. It reports to logf, or to standard error if nil.
func Build(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	if logf == nil {
		logf = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "test", "kube", "server")
	version, err := sourceVersion(ctx, source)
	if err != nil {
		return "", fmt.Errorf("finding the version of the control plane: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	dir := filepath.Join(cache, "countd")
	binary := filepath.Join(dir, binaryPrefix+version)
	// The time of a binary is that of its last use, see prune.
	if err := os.Chtimes(binary, time.Now(), time.Now()); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache directory: %w", err)
	}
	logf("kube: building etcd, kube-apiserver and kube-controller-manager (%s); the first time takes some five minutes", version)
	unlock, err := lock(ctx, binary+".lock")
	if err != nil {
		return "", fmt.Errorf("waiting for another build: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(binary); err == nil {
		return binary, nil // another process built it meanwhile
	}
	if err := build(ctx, source, binary, logf); err != nil {
		return "", fmt.Errorf("building the control plane: %w", err)
	}
	if err := prune(dir); err != nil {
		return "", fmt.Errorf("removing old versions of the control plane: %w", err)
	}
	return binary, nil
}

// build leaves a whole binary or none.
func build(ctx context.Context, source, binary string, logf func(string, ...any)) error {
	unfinished := binary + ".unfinished"
	start := time.Now()
	stopped := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(buildProgress)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				logf("kube: still building, %v", time.Since(start).Round(time.Second))
			case <-stopped:
				return
			}
		}
	}()
	_, err := goCommand(ctx, source, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", unfinished, ".")
	close(stopped)
	<-finished
	if err != nil {
		return err
	}
	logf("kube: built in %v", time.Since(start).Round(time.Second))
	return os.Rename(unfinished, binary)
}

// prune removes what was not used for long.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), binaryPrefix) || time.Since(info.ModTime()) < unusedLife {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lock returns when no other process holds the file's lock.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	locked := make(chan error, 1)
	go func() { locked <- lockFile(f) }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return func() { _ = f.Close() }, nil
	case <-ctx.Done():
		// A lock cannot be waited for with a context: the file is closed when the
		// lock comes.
		go func() { _ = errors.Join(<-locked, f.Close()) }()
		return nil, ctx.Err()
	}
}

// sourceVersion changes with the source of the server, the Go version and the
// platform.
func sourceVersion(ctx context.Context, source string) (string, error) {
	goVersion, err := goCommand(ctx, source, "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", bytes.TrimSpace(goVersion), runtime.GOOS, runtime.GOARCH)
	err = fs.WalkDir(os.DirFS(source), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(source, path))
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(data))
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// goCommand runs the go command on the server's module as it is: workspaces and
// flags of the surroundings do not count.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running go %s in %s: %w\n%s", args[0], dir, err, stderr.Bytes())
	}
	return out, nil
}

// moduleRoot is the nearest folder above the working directory that holds
// countd's go.mod; modules nested in it are passed by.
func moduleRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module's root: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(data), "\n"); err == nil && strings.TrimSpace(first) == "module "+modulePath {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the module's root: no go.mod of %s in or above %s", modulePath, wd)
		}
	}
}
