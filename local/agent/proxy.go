package agent

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// proxy holds the node ports open. It is one goroutine that compares what
// should listen with what does; each connection chooses its endpoint itself,
// from what is ready at that moment.
type proxy struct {
	agent  *agent
	kicked chan struct{}
	open   map[frontKey]io.Closer
}

// frontKey is one thing to listen for: a port of a node.
type frontKey struct {
	address netip.Addr
	port    int32
	service types.NamespacedName
	// portName is the name of the Service's port. For the health check of a
	// Service it is not used.
	portName string
	protocol corev1.Protocol
	node     string
	health   bool
}

func newProxy(a *agent) *proxy {
	return &proxy{agent: a, kicked: make(chan struct{}, 1), open: map[frontKey]io.Closer{}}
}

// kick makes the proxy look again.
func (p *proxy) kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

func (p *proxy) run(ctx context.Context) {
	defer func() {
		for _, c := range p.open {
			c.Close()
		}
	}()
	// Ports that could not be opened are tried again.
	retry := time.NewTicker(5 * time.Second)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kicked:
		case <-retry.C:
		}
		p.sync()
	}
}

func (p *proxy) sync() {
	want, err := p.wanted()
	if err != nil {
		klog.ErrorS(err, "Node ports stay as they are")
		return
	}
	// A port may move from one Service to another: close first.
	for key, l := range p.open {
		if !want[key] {
			l.Close()
			delete(p.open, key)
		}
	}
	for key := range want {
		if p.open[key] != nil {
			continue
		}
		l, err := p.listen(key)
		if err != nil {
			klog.ErrorS(err, "Node port is not open", "node", key.node, "port", key.port, "service", key.service)
			continue
		}
		p.open[key] = l
	}
}

// wanted are the ports that should be open on the nodes that exist.
func (p *proxy) wanted() (map[frontKey]bool, error) {
	services, err := p.agent.services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	out := map[frontKey]bool{}
	for name, node := range p.agent.nodes {
		if _, err := p.agent.nodeObjs.Get(name); err != nil {
			continue
		}
		for _, s := range services {
			key := frontKey{address: node.Address, node: name, service: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
			for _, sp := range s.Spec.Ports {
				protocol := transport(sp.Protocol)
				if sp.NodePort != 0 && (protocol == corev1.ProtocolTCP || protocol == corev1.ProtocolUDP) {
					k := key
					k.port, k.portName, k.protocol = sp.NodePort, sp.Name, protocol
					out[k] = true
				}
			}
			if s.Spec.HealthCheckNodePort != 0 {
				k := key
				k.port, k.protocol, k.health = s.Spec.HealthCheckNodePort, corev1.ProtocolTCP, true
				out[k] = true
			}
		}
	}
	return out, nil
}

func (p *proxy) listen(key frontKey) (io.Closer, error) {
	if key.protocol == corev1.ProtocolUDP {
		return p.listenUDP(key)
	}
	l, err := net.Listen("tcp4", loopback.HostPort(key.address, int(key.port)))
	if err != nil {
		return nil, err
	}
	if key.health {
		srv := &http.Server{Handler: p.healthOf(key), ReadHeaderTimeout: 10 * time.Second}
		go srv.Serve(l)
		return srv, nil
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.forward(c.(*net.TCPConn), key)
		}
	}()
	return l, nil
}

// forward joins a connection with a ready endpoint. Connections outlive the
// node port and the readiness of their endpoint, as they do with kube-proxy.
func (p *proxy) forward(c *net.TCPConn, key frontKey) {
	defer c.Close()
	endpoints := p.agent.endpoints(key)
	for _, i := range rand.Perm(len(endpoints)) {
		d := net.Dialer{Timeout: 3 * time.Second}
		out, err := d.Dial("tcp4", endpoints[i])
		if err != nil {
			continue
		}
		join(c, out.(*net.TCPConn))
		return
	}
	// No endpoint: kube-proxy rejects, the client sees a reset.
	c.SetLinger(0)
}

// join copies both ways and passes on each side's end of stream.
func join(a, b *net.TCPConn) {
	defer b.Close()
	var wg sync.WaitGroup
	half := func(dst, src *net.TCPConn) {
		io.Copy(dst, src)
		dst.CloseWrite()
	}
	wg.Go(func() { half(a, b) })
	wg.Go(func() { half(b, a) })
	wg.Wait()
}

// healthOf answers as kube-proxy's health check for a Service does: whether
// this node has endpoints of it.
func (p *proxy) healthOf(key frontKey) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := p.agent.localEndpoints(key)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, `{"service":{"namespace":%q,"name":%q},"localEndpoints":%d,"serviceProxyHealthy":true}`,
			key.service.Namespace, key.service.Name, n)
	})
}

// localOnly reports whether traffic from outside stays on its node.
func localOnly(s *corev1.Service) bool {
	return s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}
