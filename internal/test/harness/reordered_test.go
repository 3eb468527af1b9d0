package harness

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// reorderingTransport shuffles all lists in all AWS responses if random is not nil.
type reorderingTransport struct {
	next   http.RoundTripper
	random *rand.Rand // nil means no shuffling
}

func (o *reorderingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil || o.random == nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if body, err = o.shuffleBody(body); err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.Header.Del("X-Amz-Crc32")
	return resp, nil
}

// xmlElement is an XML element with its attributes, text and child elements.
type xmlElement struct {
	XMLName xml.Name
	Attrs   []xml.Attr   `xml:",any,attr"`
	Text    string       `xml:",chardata"`
	Nodes   []xmlElement `xml:",any"`
}

func (o *reorderingTransport) shuffleBody(body []byte) ([]byte, error) {
	switch {
	case len(body) == 0:
		return body, nil
	case body[0] == '{':
		var v any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		o.shuffleValues(v)
		return json.Marshal(v)
	}
	var e xmlElement
	if err := xml.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	o.shuffleElements(&e)
	return xml.Marshal(e)
}

func (o *reorderingTransport) shuffleValues(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			o.shuffleValues(x)
		}
	case []any:
		for _, x := range v {
			o.shuffleValues(x)
		}
		o.random.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	}
}

func (o *reorderingTransport) shuffleElements(e *xmlElement) {
	e.XMLName.Space, e.Attrs = "", nil
	if len(e.Nodes) > 0 {
		e.Text = ""
	}
	list := true
	for i := range e.Nodes {
		o.shuffleElements(&e.Nodes[i])
		list = list && e.Nodes[i].XMLName.Local == e.Nodes[0].XMLName.Local
	}
	if list {
		o.random.Shuffle(len(e.Nodes), func(i, j int) { e.Nodes[i], e.Nodes[j] = e.Nodes[j], e.Nodes[i] })
	}
}

// TestOrderOfAnswersCausesNoChange checks that the order of the lists in AWS responses, which AWS does not guarantee,
// causes no mutating call. There are an Ingress with weighted actions, conditions with several values and JWT claims, a
// Service and a Gateway.
func TestOrderOfAnswersCausesNoChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := &reorderingTransport{}
		r := shopWith(t, Options{
			Gateway:   func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
			Transport: func(next http.RoundTripper) http.RoundTripper { order.next = next; return order },
		})
		split := ingressAnnotations("actions.split", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":70},{"serviceName":"api","servicePort":80,"weight":20}]}}`,
			"conditions.split", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":["one","two"]}}]`)
		web := strings.Replace(webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]+","+r.Seeded.Certs["app.test"],
			"tags", "team=shop,unit=web,stage=live", "load-balancer-attributes", "idle_timeout.timeout_seconds=77,routing.http2.enabled=false", "inbound-cidrs", "10.0.0.0/8,192.168.0.0/16,172.16.0.0/12",
			"jwt-validation", `{"jwksEndpoint":"https://idp.example.com/jwks","issuer":"https://idp.example.com","additionalClaims":[{"format":"string-array","name":"scope","values":["read","write"]},{"format":"single-string","name":"kind","values":["user"]}]}`)+split,
			"/=web", "/split=split"), "{name: split, port: {number: 80}}", "{name: split, port: {name: use-annotation}}", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), readyPods("mail", podAddresses[4]), web,
			nlbService("mail", serviceAnnotations("aws-load-balancer-attributes", "load_balancing.cross_zone.enabled=true,deletion_protection.enabled=false", "load-balancer-source-ranges", "10.0.0.0/8,192.168.0.0/16"), onePort),
			edgeGateway+routeOf("one", "one.example.com", "backendRefs: [{name: web, port: 80, weight: 3}, {name: api, port: 80, weight: 2}]"))
		r.advanceTime(time.Hour)
		if w := warningsByObject(r); len(w) > 0 {
			t.Fatal(w)
		}
		want := r.State()
		for seed := range uint64(20) {
			order.random = rand.New(rand.NewPCG(seed, 1))
			r.Emulator.Calls().Reset()
			r.Start()
			r.advanceTime(time.Hour)
			if n := r.Emulator.Calls().CountMutating(); n > 0 {
				t.Fatalf("seed %d: %d changes without an edit: %v\n%v", seed, n, r.Emulator.Calls().Counts(), r.Plan(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}))
			}
			r.advanceTime(11 * time.Hour)
			if n := r.Emulator.Calls().CountMutating(); n > 0 {
				t.Fatalf("seed %d: %d changes without an edit: %v", seed, n, r.Emulator.Calls().Counts())
			}
		}
		if !slices.Equal(want, r.State()) {
			t.Error("the state of AWS changed")
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Error(w)
		}
	})
}
