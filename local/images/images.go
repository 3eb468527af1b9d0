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
	// Address is the address of the pod in the VPC; programs listen on its loopback
	// mirror.
	Address netip.Addr
	// Env is the environment of the container.
	Env map[string]string
	// ReadFile reads a file of a mounted volume.
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

// HasProgram reports whether the package has the program of an image.
func HasProgram(image string) bool { return mainOf(image) != nil }

// Start runs the program of an image until Shutdown. After an error, no server of the program runs.
func Start(image string, cfg Config) (*Program, error) {
	main := mainOf(image)
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

// mainOf returns the main function for an image, by the last element of its name, or nil.
func mainOf(image string) func(*Program, Config) error {
	name, _, _ := strings.Cut(path.Base(image), "@")
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "echo-basic":
		return echoBasic
	case "coredns":
		return coreDNS
	}
	return nil
}

// echoBasic chooses the server by environment variables, as the image does.
func echoBasic(p *Program, cfg Config) error {
	switch {
	case cfg.Env["GRPC_ECHO_SERVER"] != "":
		return echoGRPC(p, cfg)
	case cfg.Env["TCP_ECHO_SERVER"] != "":
		return echoTCP(p, cfg)
	case cfg.Env["UDP_ECHO_SERVER"] != "":
		return echoUDP(p, cfg)
	}
	return echoHTTP(p, cfg)
}

// Shutdown closes the ports, waits until current requests are finished or ctx ends, and then closes every
// connection.
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

// track registers a connection, so that Shutdown closes it. If Shutdown has been called, it closes the connection
// at once. The caller calls the returned function when the connection has ended.
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

// port returns the port in an environment variable, or the value of unset if the variable is empty.
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

// readKeyPair reads the files of certificate and key whose paths are in two environment variables. ok is false if one of
// them is not set.
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
