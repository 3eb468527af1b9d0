package world

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/vpc"
)

// awsHealthPath answers once the emulator serves.
const awsHealthPath = "/_fulcrum/clock"

// AWSEndpoint is the URL of the emulator's API, for every service, and of its
// admin API below /_fulcrum/. Empty in a world without AWS.
func (w *World) AWSEndpoint() string {
	if w.opts.WithoutAWS {
		return ""
	}
	return "http://" + atAWS(w, portAWS)
}

// Resolver is the host:port of a DNS server, UDP and TCP, that resolves the names of
// the local world's load balancers.
func (w *World) Resolver() string { return atAWS(w, portResolver) }

func (w *World) startAWS(ctx context.Context) error {
	var certs []vpc.Certificate
	g, gctx := errgroup.WithContext(ctx)
	if w.opts.Beside == 0 {
		g.Go(func() error { return w.StartRole(gctx, RoleAWS) })
	}
	g.Go(func() (err error) {
		certs, err = w.acmCertificates()
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	w.layout.AWS = w.AWSEndpoint()
	// The world that runs AWS has limited the controllers of all.
	if w.opts.Beside == 0 {
		if err := w.limitController(ctx); err != nil {
			return err
		}
	}
	if err := vpc.Setup(ctx, awsclient.Config(w.layout.AWS, w.layout.Region), &w.layout, certs); err != nil {
		return err
	}
	w.step("AWS answers, with a VPC and instances")
	return nil
}

// SetPropagationDelay changes the option of that name, by a restart of AWS.
func (w *World) SetPropagationDelay(ctx context.Context, d time.Duration) error {
	if d == w.opts.PropagationDelay {
		return nil
	}
	if err := w.Kill(RoleAWS); err != nil {
		return err
	}
	w.opts.PropagationDelay = d
	return w.StartRole(ctx, RoleAWS)
}

// limitController lets the controller do in AWS what the policies of config/iam allow, and nothing else.
func (w *World) limitController(ctx context.Context) error {
	policy, err := iam.PolicyOf(store.AWSPartitionOf(w.layout.Region).Name)
	if err != nil {
		return err
	}
	policies := []json.RawMessage{policy, iam.Optional, iam.Accelerators}
	body, err := json.Marshal(map[string]any{"policies": map[string]any{awsclient.ControllerKey: policies}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.AWSEndpoint()+"/_fulcrum/accounts", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("limit the controller to its policies: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("limit the controller to its policies: %s: %s", resp.Status, text)
	}
	return nil
}

// DeniedByAWS are the texts of the errors by which AWS refused the controller what its policies do not
// allow.
func (w *World) DeniedByAWS(ctx context.Context) ([]string, error) {
	var out struct{ Denied map[string]int }
	if err := askEmulator(ctx, w, "permissions", &out); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(out.Denied)), nil
}

// acmCertificates makes a certificate for each domain of the options. The keys
// are RSA, as what ACM lists without being asked for other kinds.
func (w *World) acmCertificates() ([]vpc.Certificate, error) {
	out := make([]vpc.Certificate, len(w.opts.Domains))
	var g errgroup.Group
	for i, domain := range w.opts.Domains {
		g.Go(func() error {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				return err
			}
			name := "acm-" + domain
			if err := w.creds.issueFor(name, key, []string{domain, "*." + domain}, nil); err != nil {
				return fmt.Errorf("make certificate of %s: %w", domain, err)
			}
			c := vpc.Certificate{Domain: domain, Chain: w.creds.caPEM}
			if c.Cert, err = os.ReadFile(w.creds.path(name + ".crt")); err != nil {
				return err
			}
			c.Key, err = os.ReadFile(w.creds.path(name + ".key"))
			out[i] = c
			return err
		})
	}
	return out, g.Wait()
}

// encodeKey writes a private key in the form that OpenSSL reads everywhere.
func encodeKey(key any) ([]byte, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
	}
	return nil, fmt.Errorf("keys of type %T are not written", key)
}
