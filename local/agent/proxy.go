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

// proxy serves the node ports. One goroutine opens and closes ports; each new connection is forwarded to one of the
// addresses that agent.endpoints returns.
type proxy struct {
	agent        *agent
	syncRequests chan struct{}
	openSockets  map[nodePortKey]io.Closer
}

// nodePortKey identifies a node port of a Service on a node, or its health check port.
type nodePortKey struct {
	address netip.Addr
	port    int32
	service types.NamespacedName
	// portName is the name of the Service's port, empty for the health check port.
	portName      string
	protocol      corev1.Protocol
	node          string
	isHealthCheck bool
}

func newProxy(a *agent) *proxy {
	return &proxy{agent: a, syncRequests: make(chan struct{}, 1), openSockets: map[nodePortKey]io.Closer{}}
}

// requestSync causes run to open and close ports, because objects have changed. It does not wait.
func (p *proxy) requestSync() {
	select {
	case p.syncRequests <- struct{}{}:
	default:
	}
}

func (p *proxy) run(ctx context.Context) {
	defer func() {
		for _, c := range p.openSockets {
			c.Close()
		}
	}()
	// The ticker retries ports that could not be opened.
	retry := time.NewTicker(5 * time.Second)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.syncRequests:
		case <-retry.C:
		}
		p.sync()
	}
}

func (p *proxy) sync() {
	want, err := p.desiredPorts()
	if err != nil {
		klog.ErrorS(err, "Node ports stay unchanged")
		return
	}
	// Close unwanted ports before others are opened, since a port may move from one Service to another.
	for key, l := range p.openSockets {
		if !want[key] {
			l.Close()
			delete(p.openSockets, key)
		}
	}
	for key := range want {
		if p.openSockets[key] != nil {
			continue
		}
		l, err := p.listen(key)
		if err != nil {
			klog.ErrorS(err, "Node port is not open", "node", key.node, "port", key.port, "service", key.service)
			continue
		}
		p.openSockets[key] = l
	}
}

// desiredPorts returns the ports that should be open on the existing nodes.
func (p *proxy) desiredPorts() (map[nodePortKey]bool, error) {
	services, err := p.agent.services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	out := map[nodePortKey]bool{}
	for name, node := range p.agent.nodes {
		if _, err := p.agent.nodeLister.Get(name); err != nil {
			continue
		}
		for _, s := range services {
			key := nodePortKey{address: node.Address, node: name, service: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
			for _, sp := range s.Spec.Ports {
				protocol := protocolOrTCP(sp.Protocol)
				if sp.NodePort != 0 && (protocol == corev1.ProtocolTCP || protocol == corev1.ProtocolUDP) {
					k := key
					k.port, k.portName, k.protocol = sp.NodePort, sp.Name, protocol
					out[k] = true
				}
			}
			if s.Spec.HealthCheckNodePort != 0 {
				k := key
				k.port, k.protocol, k.isHealthCheck = s.Spec.HealthCheckNodePort, corev1.ProtocolTCP, true
				out[k] = true
			}
		}
	}
	return out, nil
}

func (p *proxy) listen(key nodePortKey) (io.Closer, error) {
	if key.protocol == corev1.ProtocolUDP {
		return p.listenUDP(key)
	}
	l, err := net.Listen("tcp4", loopback.HostPort(key.address, int(key.port)))
	if err != nil {
		return nil, err
	}
	if key.isHealthCheck {
		srv := &http.Server{Handler: p.healthHandler(key), ReadHeaderTimeout: 10 * time.Second}
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

// forward copies data between a connection and an endpoint. As with kube-proxy, the connection stays open when the node port
// closes or the endpoint is no longer ready.
func (p *proxy) forward(c *net.TCPConn, key nodePortKey) {
	defer c.Close()
	endpoints := p.agent.endpoints(key)
	for _, i := range rand.Perm(len(endpoints)) {
		d := net.Dialer{Timeout: 3 * time.Second}
		out, err := d.Dial("tcp4", endpoints[i])
		if err != nil {
			continue
		}
		copyBothWays(c, out.(*net.TCPConn))
		return
	}
	// Without an endpoint the client gets a reset, as from kube-proxy.
	c.SetLinger(0)
}

// copyBothWays copies data between two connections and forwards each end of stream.
func copyBothWays(a, b *net.TCPConn) {
	defer b.Close()
	var wg sync.WaitGroup
	copyOneWay := func(dst, src *net.TCPConn) {
		io.Copy(dst, src)
		dst.CloseWrite()
	}
	wg.Go(func() { copyOneWay(a, b) })
	wg.Go(func() { copyOneWay(b, a) })
	wg.Wait()
}

// healthHandler returns the handler of a health check port, which responds as kube-proxy does: 200 if the node has ready
// endpoints of the Service, else 503.
func (p *proxy) healthHandler(key nodePortKey) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := p.agent.countLocalEndpoints(key)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, `{"service":{"namespace":%q,"name":%q},"localEndpoints":%d,"serviceProxyHealthy":true}`,
			key.service.Namespace, key.service.Name, n)
	})
}

// isLocalOnly reports whether the Service has externalTrafficPolicy Local.
func isLocalOnly(s *corev1.Service) bool {
	return s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}
