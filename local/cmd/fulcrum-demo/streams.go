package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

const (
	// streamsNamespace is that of the Services of the example.
	streamsNamespace = "streams"
	// certificateAnnotation names the certificate of a Service.
	certificateAnnotation = "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"
)

// stream is a Service of the example and what its clients do.
type stream struct {
	service, kind string
	talk          func(ctx context.Context, hostname string) (string, error)
}

func (d *demo) streams() []stream {
	return []stream{{"queue", "TCP", d.talkTCP}, {"names", "UDP", d.talkUDP}, {"console", "TLS", d.talkTLS}}
}

// applyStreams publishes three applications with Services and talks to each.
func (d *demo) applyStreams(ctx context.Context) error {
	objects, err := manifest.Load(filepath.Join(filepath.Dir(d.examples), "streams"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetAnnotations()[certificateAnnotation] != "" {
			d.certify(o)
		}
	}
	d.objects = append(d.objects, objects...)
	began := time.Now()
	if err := d.applier.Apply(ctx, objects); err != nil {
		return err
	}
	shown := map[string]string{}
	for _, s := range d.streams() {
		if shown[s.service], err = d.streamHostname(ctx, s.service); err != nil {
			return err
		}
		d.seen("Service %-8s shows %s after %.1f s", s.service, shown[s.service], time.Since(began).Seconds())
	}
	if shown["queue"] != shown["names"] || shown["queue"] == shown["console"] {
		return errors.New("not exactly the Services queue and names share a load balancer")
	}
	d.seen("queue and names share one NLB, as their annotation fulcrum.dev/load-balancer-group says")
	for _, s := range d.streams() {
		if err := await.True(ctx, limitConverge, func(ctx context.Context) error {
			return d.see.HealthyTargets(ctx, streamsNamespace, s.service, 2)
		}); err != nil {
			return err
		}
	}
	return d.talkToStreams(ctx)
}

// certify gives a Service the certificate of this world for example.com.
func (d *demo) certify(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	annotations[certificateAnnotation] = d.world.Layout().Certificates["example.com"]
	o.SetAnnotations(annotations)
}

func (d *demo) streamHostname(ctx context.Context, service string) (hostname string, err error) {
	return hostname, await.True(ctx, limitConverge, func(ctx context.Context) error {
		hostname, err = d.see.ServiceHostname(ctx, streamsNamespace, service)
		return err
	})
}

// talkToStreams sends traffic to each application until it is answered.
func (d *demo) talkToStreams(ctx context.Context) error {
	for _, s := range d.streams() {
		hostname, err := d.streamHostname(ctx, s.service)
		if err != nil {
			return err
		}
		var reported string
		if err := await.True(ctx, limitConverge, func(ctx context.Context) error {
			reported, err = s.talk(ctx, hostname)
			return err
		}); err != nil {
			return fmt.Errorf("%s %s: %w", s.kind, s.service, err)
		}
		d.seen("%s %-8s %s", s.kind, s.service, reported)
	}
	return nil
}

// talkTCP sends a line, which the pod sends back.
func (d *demo) talkTCP(ctx context.Context, hostname string) (string, error) {
	conn, err := d.world.Dialer(hostname)(ctx, "tcp", hostname+":5672")
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	const line = "hello queue\n"
	if _, err := io.WriteString(conn, line); err != nil {
		return "", err
	}
	back, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && back != line {
		err = fmt.Errorf("%q came back", back)
	}
	return fmt.Sprintf("%s:5672 sends %q back", hostname, line), err
}

// talkUDP sends datagrams from sockets of their own until both pods have answered.
func (d *demo) talkUDP(ctx context.Context, hostname string) (string, error) {
	var pods []string
	for range 40 {
		conn, err := d.world.Dialer(hostname)(ctx, "udp", hostname+":53")
		if err != nil {
			return "", err
		}
		r, err := scenario.Datagram(ctx, conn, "who is there?")
		conn.Close()
		if err != nil {
			return "", err
		}
		if !slices.Contains(pods, r.Pod.Pod) {
			pods = append(pods, r.Pod.Pod)
		}
		if len(pods) == 2 {
			slices.Sort(pods)
			return fmt.Sprintf("%s:53 is answered by %s and %s", hostname, pods[0], pods[1]), nil
		}
	}
	return "", fmt.Errorf("all of 40 datagrams were answered by %s", pods[0])
}

// talkTLS sends a request over TLS, which ends at the load balancer.
func (d *demo) talkTLS(ctx context.Context, hostname string) (string, error) {
	const url = "https://console.example.com/"
	r, err := scenario.Get(ctx, d.world.HTTPClient(hostname), url, nil)
	switch {
	case err != nil:
		return "", err
	case r.Pod == nil || r.Pod.TLS:
		return "", errors.New("no pod answered in plain text: " + r.String())
	}
	return fmt.Sprintf("GET %s %s, certificate for %s", url, r, r.Certificate), nil
}
