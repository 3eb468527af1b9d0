package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/rig"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// caseOptions are the settings of a case, in its options.yaml.
type caseOptions struct {
	Class                              *string
	DenyClassAnnotation, DenyGroupName bool
	NoReadinessGates                   bool
	Namespace                          string
	LoadBalancerClass                  string
	OwnNamespace                       string
	Agent                              map[string]v1beta1.ALBTargetControlConfigSpec
}

// amazon is the emulator with target groups in it, and the placeholders by which cases name what it
// created.
type amazon struct {
	cloud   *cloud.Cloud
	vpc     string
	replace []string // name, value, ...
}

func newAmazon(t *testing.T) amazon {
	t.Helper()
	em := emulator.New(emulator.Options{})
	world, err := rig.Seed(t.Context(), em)
	if err != nil {
		t.Fatal(err)
	}
	api := elb.NewFromConfig(rig.AWSConfig(em))
	out := amazon{vpc: world.VPC, replace: []string{"VPC", world.VPC}}
	for _, in := range []*elb.CreateTargetGroupInput{
		{Name: aws.String("pods"), Protocol: elbtypes.ProtocolEnumHttp, TargetType: elbtypes.TargetTypeEnumIp},
		{Name: aws.String("six"), Protocol: elbtypes.ProtocolEnumHttp, TargetType: elbtypes.TargetTypeEnumIp, IpAddressType: elbtypes.TargetGroupIpAddressTypeEnumIpv6},
		{Name: aws.String("nodes"), Protocol: elbtypes.ProtocolEnumTcp, TargetType: elbtypes.TargetTypeEnumInstance},
		{Name: aws.String("balancer"), Protocol: elbtypes.ProtocolEnumTcp, TargetType: elbtypes.TargetTypeEnumAlb},
	} {
		in.Port, in.VpcId = aws.Int32(80), aws.String(world.VPC)
		made, err := api.CreateTargetGroup(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		out.replace = append(out.replace, "ARN("+*in.Name+")", *made.TargetGroups[0].TargetGroupArn)
	}
	out.cloud, err = cloud.New(t.Context(), cloud.Config{
		Cluster: rig.ClusterName, Region: rig.Region, VPC: world.VPC,
		Credentials: credentials.NewStaticCredentialsProvider(rig.AccessKey, "secret", ""),
		HTTP:        &http.Client{Transport: em.RoundTripper()}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// counted counts questions.
type counted struct {
	webhook.Accounts
	n int
}

func (c *counted) As(a bindings.Account) bindings.TargetGroups { return of{c.Accounts.As(a), c} }

type of struct {
	bindings.TargetGroups
	c *counted
}

func (o of) TargetGroup(ctx context.Context, arn, name string, maxAge time.Duration) (bindings.TargetGroup, error) {
	o.c.n++
	return o.TargetGroups.TargetGroup(ctx, arn, name, maxAge)
}

// named replaces placeholders by values, unnamed does the opposite.
func (a amazon) named(s string) string { return strings.NewReplacer(a.replace...).Replace(s) }

func (a amazon) unnamed(s string) string {
	var pairs []string
	for i := 0; i < len(a.replace); i += 2 {
		pairs = append(pairs, a.replace[i+1], a.replace[i])
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// Every case holds a cluster and questions, each with its answer after the run.
func TestAnswers(t *testing.T) {
	world := newAmazon(t)
	goldentest.Run(t, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		var opt caseOptions
		if err := yaml.UnmarshalStrict([]byte(c.Text("options.yaml")), &opt); err != nil {
			t.Fatal(err)
		}
		asked := &counted{Accounts: world.cloud}
		cfg := configOf(t, world, opt, world.named(c.Text("cluster.yaml")))
		cfg.Accounts = asked
		h := server(cfg)
		var out strings.Builder
		for _, doc := range strings.Split(world.named(c.Text("questions.yaml")), "\n---\n") {
			var q struct {
				Case     string `json:"case"`
				question `json:",inline"`
			}
			if err := yaml.UnmarshalStrict([]byte(doc), &q); err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			asked.n = 0
			fmt.Fprintf(&out, "# %s\n%s", q.Case, send(t, q.question, h))
			if asked.n > 0 {
				fmt.Fprintf(&out, "asked AWS: %d\n", asked.n)
			}
		}
		return []goldentest.File{{Name: "answers.txt", Text: world.unnamed(out.String())}}
	})
}

func configOf(t *testing.T, world amazon, opt caseOptions, objects string) webhook.Config {
	cfg := rules(store(t, objects))
	if opt.Class != nil {
		cfg.IngressClass = *opt.Class
		cfg.Ingress = ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: *opt.Class})
	}
	cfg.DenyClassAnnotation, cfg.DenyGroupName = opt.DenyClassAnnotation, opt.DenyGroupName
	cfg.ReadinessGates, cfg.Namespace, cfg.LoadBalancerClass = !opt.NoReadinessGates, opt.Namespace, opt.LoadBalancerClass
	cfg.VPC, cfg.OwnNamespace = world.vpc, opt.OwnNamespace
	cfg.ServerIDs = &webhook.Clock{
		Worker: func(context.Context) (uint32, error) { return 42, nil },
		Now:    func() time.Time { return time.UnixMilli(1700000000000) }, Random: func(int) int { return 5 },
	}
	cfg.ServerIDVariable = "AWS_LBC_QUIC_SERVER_ID"
	if opt.Agent != nil {
		cfg.AgentConfig = func(_ context.Context, ns string) (*v1beta1.ALBTargetControlConfig, error) {
			if spec, ok := opt.Agent[ns]; ok {
				return &v1beta1.ALBTargetControlConfig{Spec: spec}, nil
			}
			return nil, nil
		}
	}
	return cfg
}

// send sends a request and prints the answer.
func send(t *testing.T, q question, h http.Handler) string {
	t.Helper()
	w := post(t, h, q)
	if w.Code != http.StatusOK {
		return fmt.Sprintf("HTTP %d: %s", w.Code, w.Body)
	}
	var out strings.Builder
	a := answer(t, w)
	if a.Allowed {
		out.WriteString("allowed\n")
	} else {
		fmt.Fprintf(&out, "denied (%d): %s\n", a.Result.Code, a.Result.Message)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", warning)
	}
	if len(a.Patch) > 0 {
		var ops []map[string]any
		if err := json.Unmarshal(a.Patch, &ops); err != nil {
			t.Fatal(err)
		}
		patched(t, q, a) // it can be applied
		for _, op := range ops {
			value, err := json.Marshal(op["value"])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %s %s\n", op["op"], op["path"], value)
		}
	}
	return out.String()
}
