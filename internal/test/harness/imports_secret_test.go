package harness

import (
	"context"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// writtenTexts has all texts that a controller wrote or that describe its data, by their origin.
type writtenTexts struct {
	mu  sync.Mutex
	all map[string]string
}

func (s *writtenTexts) record(as, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]string{}
	}
	s.all[as] += text + "\n"
}

// recordAllFormats records a value in several fmt verbs, as JSON and as YAML.
func (s *writtenTexts) recordAllFormats(as string, v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		s.record(as+" "+verb, fmt.Sprintf(verb, v))
	}
	if text, err := json.Marshal(v); err == nil {
		s.record(as+" as JSON", string(text))
	}
	if text, err := yaml.Marshal(v); err == nil {
		s.record(as+" as YAML", string(text))
	}
}

// textsWithKeys returns the origins of the texts that contain a line of one of the private keys in PEM form, or the
// base64, hexadecimal or decimal form of the key.
func (s *writtenTexts) textsWithKeys(keys []string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for as, text := range s.all {
		for _, key := range keys {
			bytes := []byte(key)[40:80]
			parts := []string{
				base64.StdEncoding.EncodeToString([]byte(key)), fmt.Sprintf("%x", bytes),
				strings.Trim(fmt.Sprint(bytes), "[]"), strings.Trim(strings.TrimPrefix(fmt.Sprintf("%#v", bytes), "[]byte"), "{}"),
			}
			for _, line := range strings.Split(strings.TrimSpace(key), "\n") {
				if !strings.HasPrefix(line, "-----") {
					parts = append(parts, line)
				}
			}
			for _, part := range parts {
				if strings.Contains(text, part) {
					out = append(out, as)
				}
			}
		}
	}
	return out
}

// TestPrivateKeysAreNeverShown checks that no part of a private key appears in logs, events, plans, findings,
// checkpoints or objects other than its TLS Secret, even if AWS quotes the key in an error.
func TestPrivateKeysAreNeverShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reported writtenTexts
		i := newIssuer(t)
		opt := importOptions(Options{Checkpoints: true, Workers: 2})
		opt.Log = funcr.NewJSON(func(line string) { reported.record("the log", line) }, funcr.Options{Verbosity: 10})
		set := opt.Ingress
		opt.Ingress = func(o *ingress.Options) {
			set(o)
			o.DescribePlan = true
		}
		r := shopWith(t, opt)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Operation != "ImportCertificate" || c.Mutation%2 == 0 {
				return fault.Action{}
			}
			key := i.keys[len(i.keys)-1]
			return fault.Action{Error: &store.Error{Code: "ValidationException", Status: 400, Message: fmt.Sprintf("Value '%s' at 'privateKey' failed, so did '%s' and %q",
				base64.StdEncoding.EncodeToString([]byte(key)), key, key)}}
		})
		look := func() {
			t.Helper()
			engine := r.process.engineConfig
			stack, found := r.process.frontend.Translate(r.process.k8s.View(), model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, nil)
			if len(stack.Certificates) == 0 || stack.Certificates[0].Import.Content == nil {
				t.Fatal("the stack has no certificate to import")
			}
			reported.recordAllFormats("the model", stack)
			reported.recordAllFormats("a certificate", *stack.Certificates[0].Import.Content)
			reported.record("the golden form", goldentest.Dump(stack))
			reported.recordAllFormats("findings", found)
			have, err := engine.Cloud.Observe(context.Background(), stack.ID, append(stack.Questions(), model.AskOwnCertificates{}))
			if err != nil {
				t.Fatal(err)
			}
			reported.recordAllFormats("what is there", have)
			have.Facts.OwnCertificates = nil // as if the certificate were not imported yet
			p, more := planner.Make(stack, have, engine.Options, plan.Memory{})
			reported.recordAllFormats("the plan", p)
			reported.recordAllFormats("findings of the plan", more)
			reported.record("the plan as text", p.Text())
			for _, s := range p.Steps {
				reported.recordAllFormats("a step", s)
				reported.recordAllFormats("the fields of a step", s.Fields())
			}
			reported.recordAllFormats("the description", planner.Describe(stack, have, engine.Options, plan.Memory{}))
			for _, kind := range []cluster.Kind{"Event", cluster.KindIngress, cluster.KindBinding, cluster.KindSecret} {
				for _, o := range r.Store.All(kind) {
					if s, is := o.(*corev1.Secret); is && s.Type == corev1.SecretTypeTLS {
						continue
					}
					reported.recordAllFormats(string(kind), o)
					if s, is := o.(*corev1.Secret); is {
						for _, data := range s.Data {
							reported.record("a Secret of the controller", string(data))
						}
					}
				}
			}
			reported.record("the state of AWS that is shown", strings.Join(r.State(), "\n"))
		}
		for n, secret := range []func() string{
			func() string { return i.issue("shop", elliptic.P256(), "shop.example.com") },
			func() string { return i.issue("shop", elliptic.P384(), "shop.example.com") },
			func() string {
				return i.secret("shop", []byte(i.keys[0]), []byte("-----BEGIN CERTIFICATE-----\n"+i.keys[0]))
			},
			func() string { return i.issue("shop", elliptic.P256(), "shop.example.com") },
		} {
			r.Apply(secret())
			if n == 0 {
				r.Apply(shop, readyPods("web", podAddresses[:3]...), withTLS("", "shop"))
			}
			time.Sleep(20 * time.Minute)
			if n != 2 {
				look()
			}
		}
		r.Start()
		time.Sleep(time.Hour)
		look()
		if n := r.Emulator.Calls().Count("ImportCertificate"); n < 3 {
			t.Errorf("%d imports", n)
		}
		if !strings.Contains(reported.all["the log"], "planned stack") || !strings.Contains(reported.all["Event %+v"], "shop/shop") || !strings.Contains(reported.all["Event %+v"], "[redacted]") {
			t.Error("the log or the events do not contain the expected texts")
		}
		if leaks := reported.textsWithKeys(i.keys); len(leaks) > 0 {
			t.Errorf("private keys are in %q", leaks)
		}
	})
}
