package images

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// Config is the configuration of a container.
type Config struct {
	// Address is the address of the pod in the VPC; programs listen on the corresponding loopback address, see package
	// loopback.
	Address netip.Addr
	// Env is the environment of the container.
	Env map[string]string
	// ReadFile reads a file in a volume of the container. path is a path in the container.
	ReadFile func(path string) ([]byte, error)
}

// Program is the running program of a container.
type Program struct {
	mu        sync.Mutex
	closed    bool
	shutdowns []func(context.Context) // one for each server
	conns     map[io.Closer]struct{}
	wg        sync.WaitGroup
}

// HasProgram reports whether this package implements the program of a container image. The registry, the tag and the digest
// in the name of the image have no effect.
func HasProgram(image string) bool { return programStarter(image) != nil }

// Start starts the program of a container image, which runs until Shutdown. If Start returns an error, nothing runs.
func Start(image string, cfg Config) (*Program, error) {
	main := programStarter(image)
	if main == nil {
		return nil, fmt.Errorf("no program for image %q", image)
	}
	p := &Program{conns: map[io.Closer]struct{}{}}
	if err := main(p, cfg); err != nil {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		p.Shutdown(now)
		return nil, err
	}
	return p, nil
}

// programStarter returns the function that starts the program of an image, or nil if there is none. Only the last
// element of the name of the image, without tag and digest, determines the program.
func programStarter(image string) func(*Program, Config) error {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "echo-basic":
		return startEchoBasic
	case "coredns":
		return startCoreDNS
	}
	return nil
}

// startEchoBasic starts the server that environment variables select, as the image does. The default is HTTP.
func startEchoBasic(p *Program, cfg Config) error {
	switch {
	case cfg.Env["GRPC_ECHO_SERVER"] != "":
		return startEchoGRPC(p, cfg)
	case cfg.Env["TCP_ECHO_SERVER"] != "":
		return startEchoTCP(p, cfg)
	case cfg.Env["UDP_ECHO_SERVER"] != "":
		return startEchoUDP(p, cfg)
	}
	return startEchoHTTP(p, cfg)
}

// Shutdown closes the ports, waits until the current requests are finished or ctx ends, and then closes all connections.
func (p *Program) Shutdown(ctx context.Context) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, end := range p.shutdowns {
		wg.Go(func() { end(ctx) })
	}
	wg.Wait()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// track registers a connection that Shutdown must close. If Shutdown has been called, track closes the connection at once.
// The caller must call the returned function, which closes the connection, when it no longer uses the connection.
func (p *Program) track(c io.Closer) (untrack func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return func() {}
	}
	p.conns[c] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
		c.Close()
	}
}

// port returns the port in the environment variable name, or unset if the variable is empty or not set.
func (c Config) port(name string, unset int) (int, error) {
	text := c.Env[name]
	if text == "" {
		return unset, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return int(n), nil
}

func (c Config) listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", loopback.HostPort(c.Address, port))
}

// readKeyPair reads a certificate and its key. certificate and key are the names of environment variables with the paths of
// the files. ok is false if one of the variables is not set.
func (c Config) readKeyPair(certificate, key string) (cert, private []byte, ok bool, err error) {
	if c.Env[certificate] == "" || c.Env[key] == "" {
		return nil, nil, false, nil
	}
	if cert, err = c.ReadFile(c.Env[certificate]); err != nil {
		return nil, nil, false, err
	}
	private, err = c.ReadFile(c.Env[key])
	return cert, private, err == nil, err
}
