package webhook_test

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

// caseOptions are the options of a case, read from its options.yaml.
type caseOptions struct {
	Class                              *string
	DenyClassAnnotation, DenyGroupName bool
	NoReadinessGates                   bool
	Namespace                          string
	LoadBalancerClass                  string
	OwnNamespace                       string
	Accelerator                        webhook.AcceleratorOptions
	Agent                              map[string]v1beta1.ALBTargetControlConfigSpec
}

// placeholders returns pairs of a placeholder in cases and the AWS ID that it stands for.
func placeholders() (names []string) {
	for i, name := range []string{"pods", "six", "nodes", "balancer"} {
		names = append(names, "ARN("+name+")", fmt.Sprintf("arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/%s/%016x", name, i+1))
	}
	return append(names, "VPC", "vpc-0123456789abcdef0")
}

// TestAnswers compares the answers to the admission requests of each case with the golden files.
func TestAnswers(t *testing.T) {
	names := placeholders()
	named := strings.NewReplacer(names...)
	for i := 0; i < len(names); i += 2 {
		names[i], names[i+1] = names[i+1], names[i]
	}
	unnamed := strings.NewReplacer(names...)
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		var opt caseOptions
		if err := yaml.UnmarshalStrict([]byte(c.Text("options.yaml")), &opt); err != nil {
			t.Fatal(err)
		}
		h := newTestHandler(configOf(t, opt, named.Replace(c.Text("cluster.yaml"))))
		var out strings.Builder
		for _, doc := range strings.Split(named.Replace(c.Text("questions.yaml")), "\n---\n") {
			var q struct {
				Case        string `json:"case"`
				testRequest `json:",inline"`
			}
			if err := yaml.UnmarshalStrict([]byte(doc), &q); err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			fmt.Fprintf(&out, "# %s\n%s", q.Case, sendAsText(t, q.testRequest, h))
		}
		return []goldentest.File{{Name: "answers.txt", Text: unnamed.Replace(out.String())}}
	})
}

// agentConfigs has the configurations of the target control agent, by namespace.
type agentConfigs map[string]v1beta1.ALBTargetControlConfigSpec

// AgentConfig implements webhook.AgentConfigs.
func (a agentConfigs) AgentConfig(_ context.Context, ns string) (*v1beta1.ALBTargetControlConfig, error) {
	if spec, ok := a[ns]; ok {
		return &v1beta1.ALBTargetControlConfig{Spec: spec}, nil
	}
	return nil, nil
}

func configOf(t *testing.T, opt caseOptions, objects string) webhook.Config {
	cfg := testConfig(newStore(t, objects))
	if opt.Class != nil {
		cfg.Ingress = ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: *opt.Class})
	}
	cfg.DenyClassAnnotation, cfg.DenyGroupName = opt.DenyClassAnnotation, opt.DenyGroupName
	cfg.ReadinessGates, cfg.Namespace, cfg.LoadBalancerClass = !opt.NoReadinessGates, opt.Namespace, opt.LoadBalancerClass
	cfg.ControllerNamespace, cfg.Accelerator = opt.OwnNamespace, opt.Accelerator
	cfg.ServerIDs = &webhook.ServerIDGenerator{
		WorkerNumbers: constantWorker(42), Clock: clocktesting.NewFakeClock(time.UnixMilli(1700000000000)), Random: constantRandom(5),
	}
	cfg.ServerIDVariable = "AWS_LBC_QUIC_SERVER_ID"
	if opt.Agent != nil {
		cfg.AgentConfigs = agentConfigs(opt.Agent)
	}
	return cfg
}

// sendAsText sends a request and returns the answer as text.
func sendAsText(t *testing.T, q testRequest, h http.Handler) string {
	t.Helper()
	w := sendReview(t, h, q)
	if w.Code != http.StatusOK {
		return fmt.Sprintf("HTTP %d: %s", w.Code, w.Body)
	}
	var out strings.Builder
	a := decodeAnswer(t, w)
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
		applyPatch(t, q, a) // fails the test if the patch cannot be applied
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
