package charts

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
)

// TestInvalidValuesAreRefused checks that invalid values are refused with a message that names the value.
func TestInvalidValuesAreRefused(t *testing.T) {
	for values, names := range map[string][]string{
		`{clustername: shop}`:                                                                  {"clustername", "not allowed"},
		`{clusterName: shop, replicas: 3}`:                                                     {"replicas", "not allowed"},
		`{clusterName: shop, replicaCount: "3"}`:                                               {"/replicaCount", "integer"},
		`{clusterName: shop, replicaCount: -1}`:                                                {"/replicaCount"},
		`{clusterName: [shop]}`:                                                                {"/clusterName", "string"},
		`{clusterName: shop, image: {name: fulcrum}}`:                                          {"/image", "name"},
		`{clusterName: shop, image: {pullPolicy: always}}`:                                     {"/image/pullPolicy", "Always"},
		`{clusterName: shop, serviceAccount: {annotation: {}}}`:                                {"/serviceAccount", "annotation"},
		`{clusterName: shop, serviceaccount: {create: false}}`:                                 {"serviceaccount", "not allowed"},
		`{clusterName: shop, enableShield: "false"}`:                                           {"/enableShield", "boolean"},
		`{clusterName: shop, enableWAF: false}`:                                                {"enableWAF", "not allowed"},
		`{clusterName: shop, defaultTargetType: pod}`:                                          {"/defaultTargetType", "instance"},
		`{clusterName: shop, defaultLoadBalancerScheme: public}`:                               {"/defaultLoadBalancerScheme", "internet-facing"},
		`{clusterName: shop, defaultTags: [a=b]}`:                                              {"/defaultTags", "object"},
		`{clusterName: shop, defaultTags: {a: {b: c}}}`:                                        {"/defaultTags/a"},
		`{clusterName: shop, externalManagedTags: owner}`:                                      {"/externalManagedTags", "array"},
		`{clusterName: shop, backendSecurityGroup: my-group}`:                                  {"/backendSecurityGroup", "sg-"},
		`{clusterName: shop, syncPeriod: 10}`:                                                  {"/syncPeriod", "string"},
		`{clusterName: shop, syncPeriod: 10 hours}`:                                            {"/syncPeriod"},
		`{clusterName: shop, ingressMaxConcurrentReconciles: many}`:                            {"/ingressMaxConcurrentReconciles"},
		`{clusterName: shop, maxRulesPerNamespace: 0}`:                                         {"/maxRulesPerNamespace"},
		`{clusterName: shop, maxListenersPerIngress: "0"}`:                                     {"/maxListenersPerIngress"},
		`{clusterName: shop, metricsBindAddr: 8080}`:                                           {"/metricsBindAddr"},
		`{clusterName: shop, webhookBindPort: 99999}`:                                          {"/webhookBindPort"},
		`{clusterName: shop, controllerConfig: {featureGate: {}}}`:                             {"/controllerConfig", "featureGate"},
		`{clusterName: shop, controllerConfig: {featureGates: {ALBSingleSubnet: yes please}}}`: {"/controllerConfig/featureGates/ALBSingleSubnet"},
		`{clusterName: shop, controllerConfig: {featureGates: "ALBSingleSubnet=true"}}`:        {"/controllerConfig/featureGates", "object"},
		`{clusterName: shop, webhookConfig: {ingressValidationFailurePolicy: Ignore}}`:         {"/webhookConfig", "ingressValidationFailurePolicy"},
		`{clusterName: shop, webhookConfig: {ingressValdationFailurePolicy: ignore}}`:          {"/webhookConfig/ingressValdationFailurePolicy", "Ignore"},
		`{clusterName: shop, serviceMutatorWebhookConfig: {operations: [DELETE]}}`:             {"/serviceMutatorWebhookConfig/operations/0", "CREATE"},
		`{clusterName: shop, webhookNamespaceSelectors: [{key: a, operator: Equals}]}`:         {"/webhookNamespaceSelectors/0/operator", "Exists"},
		`{clusterName: shop, objectSelector: {matchLabel: {a: b}}}`:                            {"/objectSelector", "matchLabel"},
		`{clusterName: shop, podDisruptionBudget: {maxUnavailble: 1}}`:                         {"/podDisruptionBudget", "maxUnavailble"},
		`{clusterName: shop, autoscaling: {enabled: "true"}}`:                                  {"/autoscaling/enabled", "boolean"},
		`{clusterName: shop, resources: {limit: {}}}`:                                          {"/resources", "limit"},
		`{clusterName: shop, logLevel: warn}`:                                                  {"/logLevel", "debug"},
		`{clusterName: shop, drift: ignore}`:                                                   {"/drift", "report"},
		`{clusterName: shop, extraArgs: [drift=off]}`:                                          {"/extraArgs/0"},
		`{clusterName: shop, gatewayClasses: [{name: alb, controllerName: aws/alb}]}`:          {"/gatewayClasses/0/controllerName"},
		`{clusterName: shop, networkPolicy: {enable: true}}`:                                   {"/networkPolicy", "enable"},
		`{}`:                  {"clusterName is not set"},
		`{clusterName: null}`: {"clusterName is not set"},
	} {
		rendered, err := renderManifests(t, parseValues(t, values), renderOptions{})
		if err == nil {
			t.Errorf("%s is accepted:\n%.200s", values, rendered)
			continue
		}
		for _, name := range names {
			if !strings.Contains(strings.ReplaceAll(err.Error(), "'/", "/"), name) {
				t.Errorf("%s: the message does not contain %q: %v", values, name, err)
			}
		}
	}
}

// TestSchemaAndValuesAgree checks that values.yaml and the schema have the same keys, except for "global" and "enabled",
// which a parent chart may set. The schema allows no other keys.
func TestSchemaAndValuesAgree(t *testing.T) {
	var schema schemaNode
	if err := json.Unmarshal(readFile(t, "fulcrum/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global")
	delete(schema.Properties, "enabled")
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(readFile(t, "fulcrum/values.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, s schemaNode, m *yamlv3.Node)
	compare = func(path string, s schemaNode, m *yamlv3.Node) {
		var keys []string
		for i := 0; i < len(m.Content); i += 2 {
			key := m.Content[i].Value
			keys = append(keys, key)
			if below, ok := s.Properties[key]; ok && len(below.Properties) > 0 && m.Content[i+1].Kind == yamlv3.MappingNode && len(m.Content[i+1].Content) > 0 {
				compare(path+"."+key, below, m.Content[i+1])
			}
		}
		slices.Sort(keys)
		if d := cmp.Diff(slices.Sorted(maps.Keys(s.Properties)), keys); d != "" {
			t.Errorf("%s (-schema +values.yaml):\n%s", path, d)
		}
		if s.AdditionalProperties != false {
			t.Errorf("%s allows unknown keys", path)
		}
	}
	compare("values", schema, doc.Content[0])
}

// schemaNode is a part of a JSON schema.
type schemaNode struct {
	Properties           map[string]schemaNode
	AdditionalProperties any
}

// TestEmptyValuesAreAccepted checks that top-level values without a default may be null, and that some of them may be "".
// Some tools write null or "" for a value that is not set.
func TestEmptyValuesAreAccepted(t *testing.T) {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(readFile(t, "fulcrum/values.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	m := doc.Content[0]
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i+1].Tag == "!!null" {
			values[m.Content[i].Value] = nil
		}
	}
	values["clusterName"] = "shop"
	if got, want := render(t, values, renderOptions{}), render(t, map[string]any{"clusterName": "shop"}, renderOptions{}); got != want {
		t.Errorf("empty values change the rendering:\n%s", cmp.Diff(want, got))
	}
	for _, empty := range []string{"region", "vpcId", "logLevel", "metricsBindAddr", "defaultLoadBalancerScheme", "syncPeriod", "ingressMaxConcurrentReconciles", "backendSecurityGroup", "awsApiEndpoints", "serviceTargetENISGTags", "dnsPolicy"} {
		if got, want := render(t, map[string]any{"clusterName": "shop", empty: ""}, renderOptions{}), render(t, map[string]any{"clusterName": "shop"}, renderOptions{}); got != want {
			t.Errorf("%s: \"\" changes the rendering:\n%s", empty, cmp.Diff(want, got))
		}
	}
}
