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

// awsHealthPath is a path at which the emulator returns success as soon as it accepts requests.
const awsHealthPath = "/_fulcrum/clock"

// AWSEndpoint returns the URL of the emulator, which serves the APIs of all AWS services, and its admin API below
// /_fulcrum/. It returns an empty string for a local world without AWS.
func (w *World) AWSEndpoint() string {
	if w.opts.WithoutAWS {
		return ""
	}
	return "http://" + awsHostPort(w, portAWS)
}

// ResolverAddress returns the host:port of a DNS server that resolves the names of the local world's load balancers, over
// UDP and TCP.
func (w *World) ResolverAddress() string { return awsHostPort(w, portResolver) }

func (w *World) startAWS(ctx context.Context) error {
	var certs []vpc.Certificate
	g, gctx := errgroup.WithContext(ctx)
	if w.opts.AWSOfWorld == 0 {
		g.Go(func() error { return w.StartRole(gctx, RoleAWS) })
	}
	g.Go(func() (err error) {
		certs, err = w.createACMCertificates()
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	w.layout.AWS = w.AWSEndpoint()
	// The permissions apply to the controllers of all local worlds that use this AWS. The local world that runs AWS sets
	// them.
	if w.opts.AWSOfWorld == 0 {
		if err := w.restrictControllerPermissions(ctx); err != nil {
			return err
		}
	}
	if err := vpc.Setup(ctx, awsclient.Config(w.layout.AWS, w.layout.Region), &w.layout, certs); err != nil {
		return err
	}
	w.reportStep("the AWS API is ready, with a VPC and instances")
	return nil
}

// SetPropagationDelay changes Options.PropagationDelay to d, and restarts AWS if d is a new value. AWS keeps its state.
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

// restrictControllerPermissions gives the controller's access key exactly the permissions of three policies in
// config/iam: the policy for the partition of the region, OptionalPolicy and AcceleratorsPolicy.
func (w *World) restrictControllerPermissions(ctx context.Context) error {
	policy, err := iam.PolicyForPartition(store.AWSPartitionOfRegion(w.layout.Region).Name)
	if err != nil {
		return err
	}
	policies := []json.RawMessage{policy, iam.OptionalPolicy, iam.AcceleratorsPolicy}
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

// AWSDenials returns the sorted messages of the AccessDenied errors that AWS has returned to the controller.
func (w *World) AWSDenials(ctx context.Context) ([]string, error) {
	var out struct{ Denied map[string]int }
	if err := readEmulatorAdminAPI(ctx, w, "permissions", &out); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(out.Denied)), nil
}

// createACMCertificates creates a certificate for each domain in Options.Domains. The keys are RSA, because ACM lists only
// RSA certificates by default.
func (w *World) createACMCertificates() ([]vpc.Certificate, error) {
	out := make([]vpc.Certificate, len(w.opts.Domains))
	var g errgroup.Group
	for i, domain := range w.opts.Domains {
		g.Go(func() error {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				return err
			}
			name := "acm-" + domain
			if err := w.creds.issueServerCertForKey(name, key, []string{domain, "*." + domain}, nil); err != nil {
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

// encodeKey returns a private key as PEM, in a form that all versions of OpenSSL read.
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
	return nil, fmt.Errorf("key type %T is not supported", key)
}
