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
	// streamsNamespace is the namespace of the Services of the example.
	streamsNamespace = "streams"
	// certificateAnnotation is the annotation with the certificate ARN of a Service.
	certificateAnnotation = "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"
)

// stream is a Service of the example, with a function that sends a request to it.
type stream struct {
	service, kind string
	request       func(ctx context.Context, hostname string) (string, error)
}

func (d *demo) streams() []stream {
	return []stream{{"queue", "TCP", d.requestTCP}, {"names", "UDP", d.requestUDP}, {"console", "TLS", d.requestTLS}}
}

// applyStreams publishes three applications with Services and sends requests to each.
func (d *demo) applyStreams(ctx context.Context) error {
	objects, err := manifest.Load(filepath.Join(filepath.Dir(d.examplesDir), "streams"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetAnnotations()[certificateAnnotation] != "" {
			d.setCertificate(o)
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
		d.report("Service %-8s shows %s after %.1f s", s.service, shown[s.service], time.Since(began).Seconds())
	}
	if shown["queue"] != shown["names"] || shown["queue"] == shown["console"] {
		return errors.New("the Services queue and names do not share one load balancer")
	}
	d.report("queue and names share one NLB, as their annotation fulcrum.dev/load-balancer-group requests")
	for _, s := range d.streams() {
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
			return d.scenario.CheckHealthyTargets(ctx, streamsNamespace, s.service, 2)
		}); err != nil {
			return err
		}
	}
	return d.requestStreams(ctx)
}

// setCertificate sets the certificate annotation of a Service to the ARN of the certificate for example.com in the
// local world.
func (d *demo) setCertificate(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	annotations[certificateAnnotation] = d.world.Layout().Certificates["example.com"]
	o.SetAnnotations(annotations)
}

func (d *demo) streamHostname(ctx context.Context, service string) (hostname string, err error) {
	return hostname, await.Success(ctx, limitConverge, func(ctx context.Context) error {
		hostname, err = d.scenario.ServiceHostname(ctx, streamsNamespace, service)
		return err
	})
}

// requestStreams sends requests to each application until it responds.
func (d *demo) requestStreams(ctx context.Context) error {
	for _, s := range d.streams() {
		hostname, err := d.streamHostname(ctx, s.service)
		if err != nil {
			return err
		}
		var reported string
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
			reported, err = s.request(ctx, hostname)
			return err
		}); err != nil {
			return fmt.Errorf("%s %s: %w", s.kind, s.service, err)
		}
		d.report("%s %-8s %s", s.kind, s.service, reported)
	}
	return nil
}

// requestTCP sends a line, which the pod must echo, and returns a description of the result.
func (d *demo) requestTCP(ctx context.Context, hostname string) (string, error) {
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
		err = fmt.Errorf("received %q", back)
	}
	return fmt.Sprintf("%s:5672 sends %q back", hostname, line), err
}

// requestUDP sends datagrams from new sockets until both pods have replied, and returns a description of the result.
func (d *demo) requestUDP(ctx context.Context, hostname string) (string, error) {
	var pods []string
	for range 40 {
		conn, err := d.world.Dialer(hostname)(ctx, "udp", hostname+":53")
		if err != nil {
			return "", err
		}
		r, err := scenario.SendDatagram(ctx, conn, "who is there?")
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

// requestTLS sends a request over TLS, which the load balancer terminates, and returns a description of the result.
func (d *demo) requestTLS(ctx context.Context, hostname string) (string, error) {
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
