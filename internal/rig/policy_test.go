package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// oneOrMore is a text or a list of texts, as policies are written.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

type statement struct {
	Action, Resource oneOrMore
	Condition        map[string]map[string]oneOrMore
}

// asked is what AWS judges a call by.
type asked struct {
	action, resource string // ARN, or "" for an action without one
	keys             map[string]string
}

func (s statement) allows(a asked) bool {
	if !slices.Contains(s.Action, a.action) {
		return false
	}
	if !slices.ContainsFunc(s.Resource, func(p string) bool {
		ok, err := path.Match(p, a.resource)
		return p == "*" || err == nil && ok
	}) {
		return false
	}
	for operator, conditions := range s.Condition {
		for key, values := range conditions {
			have, there := a.keys[key]
			switch operator {
			case "StringEquals":
				if !there || !slices.Contains(values, have) {
					return false
				}
			case "Null":
				if there == (values[0] == "true") {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// guard judges each call by the policies before the emulator serves it.
type guard struct {
	r          *Rig
	inner      http.RoundTripper
	statements []statement

	mu     sync.Mutex
	judged int
	denied map[string]bool
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	all := g.asked(req, body)
	if len(all) == 0 {
		return nil, fmt.Errorf("it is not known what %s asks for", req.URL)
	}
	g.mu.Lock()
	g.judged++
	g.mu.Unlock()
	for _, a := range all {
		if !slices.ContainsFunc(g.statements, func(s statement) bool { return s.allows(a) }) {
			g.mu.Lock()
			g.denied[a.action+" "+a.resource] = true
			g.mu.Unlock()
		}
	}
	return g.inner.RoundTrip(req)
}

// ownTag is on all that the controller makes.
const ownTag = "elbv2.k8s.aws/cluster"

var (
	tagKey   = regexp.MustCompile(`(^|\.)Tag(s\.member)?\.\d+\.Key$|^TagKeys\.member\.\d+$`)
	resource = regexp.MustCompile(`^(LoadBalancerArn|TargetGroupArn|ListenerArn|RuleArn|ResourceArns\.member\.\d+|GroupId|ResourceId\.\d+)$`)
)

// asked reads what a request asks for: an action on each of its resources, and the right to tag what
// it makes.
func (g *guard) asked(req *http.Request, body []byte) []asked {
	service, _, _ := strings.Cut(req.URL.Host, ".")
	switch {
	case service == "route53" && req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/hostedzone"):
		return []asked{{action: "route53:ListHostedZones"}}
	case service == "route53" && req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/rrset"):
		return []asked{{action: "route53:ChangeResourceRecordSets"}}
	}
	if target := req.Header.Get("X-Amz-Target"); target != "" {
		return g.askedJSON(target, body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("Action") == "" {
		return nil
	}
	action := service + ":" + form.Get("Action")
	keys := map[string]string{}
	var resources []string
	for name, values := range form {
		switch {
		case tagKey.MatchString(name):
			keys["aws:RequestTag/"+values[0]] = ""
		case resource.MatchString(name):
			resources = append(resources, values[0])
		}
	}
	if len(resources) == 0 || strings.Contains(action, ":Create") && !strings.HasSuffix(action, "CreateTags") {
		resources = []string{""}
	}
	var out []asked
	for _, id := range resources {
		out = append(out, asked{action, arnOf(id), g.withTags(keys, id)})
	}
	if made := map[string][2]string{
		"ec2:CreateSecurityGroup":                 {"ec2:CreateTags", "arn:aws:ec2:r:a:security-group/new"},
		"elasticloadbalancing:CreateTargetGroup":  {"elasticloadbalancing:AddTags", "arn:aws:elasticloadbalancing:r:a:targetgroup/new/1"},
		"elasticloadbalancing:CreateLoadBalancer": {"elasticloadbalancing:AddTags", "arn:aws:elasticloadbalancing:r:a:loadbalancer/app/new/1"},
	}[action]; made[0] != "" {
		tagging := map[string]string{service + ":CreateAction": form.Get("Action")}
		for k, v := range keys {
			tagging[k] = v
		}
		out = append(out, asked{made[0], made[1], tagging})
	}
	return out
}

// askedJSON reads the protocol of the other services.
func (g *guard) askedJSON(target string, body []byte) []asked {
	prefix, operation, _ := strings.Cut(target, ".")
	service := map[string]string{
		"CertificateManager": "acm", "AWSWAF_20190729": "wafv2", "AWSWAF_Regional_20161128": "waf-regional",
		"AWSShield_20160616": "shield", "ResourceGroupsTaggingAPI_20170126": "tag",
	}[prefix]
	var in struct {
		CertificateArn string
		Tags           []struct{ Key string }
	}
	_ = json.Unmarshal(body, &in) // fields of other services do not matter
	keys := map[string]string{}
	for _, t := range in.Tags {
		keys["aws:RequestTag/"+t.Key] = ""
	}
	return []asked{{service + ":" + operation, in.CertificateArn, g.withTags(keys, in.CertificateArn)}}
}

func arnOf(id string) string {
	if strings.HasPrefix(id, "sg-") {
		return "arn:aws:ec2:r:a:security-group/" + id
	}
	return id
}

// withTags adds the tag of the cluster if the resource has it now.
func (g *guard) withTags(keys map[string]string, id string) map[string]string {
	out := map[string]string{}
	for k, v := range keys {
		out[k] = v
	}
	w := g.r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var tags map[string]string
	if lb := p.ELB.LoadBalancers[id]; lb != nil {
		tags = lb.Tags
	} else if l := p.ELB.Listeners[id]; l != nil {
		tags = l.Tags
	} else if tg := p.ELB.TargetGroups[id]; tg != nil {
		tags = tg.Tags
	} else if c := p.ACM.Certificates[id]; c != nil {
		tags = c.Tags
	} else {
		tags = p.Tags[id]
	}
	if _, ok := tags[ownTag]; ok {
		out["aws:ResourceTag/"+ownTag] = ""
	}
	return out
}

// The policy that is shipped admits every call of whole lives, also by its conditions: what is made
// carries the cluster's tag from the beginning, what is changed carries it already, and tags are
// changed without naming it.
func TestThePolicyAdmitsWhatIsCalled(t *testing.T) {
	t.Parallel()
	lives := map[string]func(t *testing.T, r *Rig){
		"an Ingress":               func(t *testing.T, r *Rig) { life(t, r) },
		"a load balancer in front": func(t *testing.T, r *Rig) { frontendLife(t, r) },
		"requested certificates":   func(t *testing.T, r *Rig) { certificateLife(t, r) },
		"imported certificates": func(t *testing.T, r *Rig) {
			set := r.opt.Cloud
			r.opt = importing(r.opt)
			r.opt.Cloud = func(c *cloud.Config) {
				set(c)
				c.ImportedCertificates = true
			}
			r.Start()
			importLife(t, r, newIssuer(t))
		},
		"settings of many kinds": func(t *testing.T, r *Rig) {
			r.Apply(shop, pods("web", podAddresses[:3]...), pods("api", podAddresses[3]), bindingTo(r.World.TargetGroups["external"]))
			for _, annotations := range []string{
				annotated("wafv2-acl-name", "rig", "shield-advanced-protection", "true", "minimum-load-balancer-capacity", "CapacityUnits=3000"),
				annotated("wafv2-acl-arn", "none", "shield-advanced-protection", "false", "tags", "team=a", "listen-ports", `[{"HTTPS":443}]`,
					"certificate-arn", r.World.Certs["example.com"]+","+r.World.Certs["app.test"]),
				annotated("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.World.Certs["example.com"], "load-balancer-attributes", "idle_timeout.timeout_seconds=77",
					"target-group-attributes", "slow_start.duration_seconds=40", "healthcheck-path", "/ok", "security-groups", r.World.ExtraSG, "tags", "unit=b"),
			} {
				r.Apply(ingressOf(annotations, "/=web", "/api=api"))
				r.Settle(time.Hour)
			}
			r.drop(cluster.KindIngress, "shop", "web")
			r.calm(time.Hour)
		},
	}
	for name, live := range lives {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &guard{denied: map[string]bool{}}
				for _, p := range [][]byte{iam.Policy, iam.Optional} {
					var policy struct{ Statement []statement }
					if err := json.Unmarshal(p, &policy); err != nil {
						t.Fatal(err)
					}
					g.statements = append(g.statements, policy.Statement...)
				}
				g.r = newManagingShop(t, 30*time.Second)
				set := g.r.opt.Cloud
				g.r.opt.Cloud = func(c *cloud.Config) {
					set(c)
					g.inner, c.HTTP = c.HTTP.Transport, &http.Client{Transport: g}
				}
				g.r.Start()
				live(t, g.r)
				if g.judged < 10 {
					t.Errorf("%d calls were judged", g.judged)
				}
				for _, call := range slices.Sorted(maps.Keys(g.denied)) {
					t.Errorf("no policy admits %s", call)
				}
			})
		})
	}
}
