package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// nonDefaultValues has values that differ from the defaults of all flags, by the type of the flag.
var nonDefaultValues = map[string]string{
	"string": "internet-facing", "bool": "", "int": "77", "duration": "77s", "stringSlice": "a,b", "stringToString": `a=b,c=d`,
	"mapStringBool": "ListenerRulesTagging=false,NLBGatewayAPI=false",
}

// TestPublishedFlagsAreTakenOver checks for each flag that a command that inherits the published flags of a controller gets
// the value of the controller. Flags that concern only one process are not published.
func TestPublishedFlagsAreTakenOver(t *testing.T) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	d := Default()
	d.AddFlags(all)
	for _, name := range processFlags {
		if all.Lookup(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
	all.VisitAll(func(f *pflag.Flag) {
		theirs := Default()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		theirs.AddFlags(fs)
		value := nonDefaultValues[f.Value.Type()]
		if f.Value.Type() == "bool" {
			value = map[string]string{"true": "false", "false": "true"}[f.DefValue]
		}
		if err := fs.Set(f.Name, value); err != nil {
			t.Fatalf("--%s=%s: %v", f.Name, value, err)
		}
		published := theirs.PublishedFlags()
		if slices.Contains(processFlags, f.Name) {
			if len(published) > 0 {
				t.Errorf("published: %q", published)
			}
			return
		}
		mine := Default()
		of := pflag.NewFlagSet("", pflag.ContinueOnError)
		mine.AddFlags(of)
		took := InheritFlags(of, published)
		if d := cmp.Diff(theirs.PublishedFlags(), mine.PublishedFlags()); d != "" || len(took.Flags) != 1 || len(published) != 1 {
			t.Errorf("%q: %+v %s", published, took, d)
		}
	})
}

func TestInheritFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		given, args []string
		want        InheritedFlags
		is          string // the published flags that the command uses
	}{
		"two words":          {nil, []string{"--cluster-name", "prod", "--enable-waf=false"}, InheritedFlags{Flags: []string{"--cluster-name=prod", "--enable-waf=false"}}, "--cluster-name=prod --enable-waf=false"},
		"switch":             {nil, []string{"--strict-groups", "--cluster-name=c"}, InheritedFlags{Flags: []string{"--strict-groups=true", "--cluster-name=c"}}, "--cluster-name=c --strict-groups=true"},
		"given":              {[]string{"--cluster-name=mine"}, []string{"--cluster-name=prod"}, InheritedFlags{DifferingFlags: []string{"--cluster-name=prod"}}, "--cluster-name=mine"},
		"given the same":     {[]string{"--cluster-name=prod"}, []string{"--cluster-name=prod"}, InheritedFlags{}, "--cluster-name=prod"},
		"given, not theirs":  {[]string{"--default-target-type=ip", "--aws-region=eu-west-1", "--kubeconfig=x"}, []string{"--cluster-name=prod"}, InheritedFlags{Flags: []string{"--cluster-name=prod"}, DifferingFlags: []string{"--default-target-type=instance"}}, "--aws-region=eu-west-1 --cluster-name=prod --default-target-type=ip"},
		"a gate, not theirs": {[]string{"--feature-gates=NLBGatewayAPI=true"}, nil, InheritedFlags{}, "--feature-gates=NLBGatewayAPI=true"},
		"given the default":  {[]string{"--default-target-type=instance"}, []string{"--default-target-type=ip"}, InheritedFlags{DifferingFlags: []string{"--default-target-type=ip"}}, ""},
		"not known":          {nil, []string{"--future=1", "--sync-period=soon"}, InheritedFlags{UnavailableFlags: []string{"--future", "--sync-period"}}, ""},
		"of the environment": {nil, []string{"--cluster-name=$(CLUSTER)"}, InheritedFlags{UnavailableFlags: []string{"--cluster-name"}}, ""},
		"of the process":     {nil, []string{"--aws-api-endpoints=EC2=http://elsewhere", "--kubeconfig", "/x", "--log-level=debug"}, InheritedFlags{}, ""},
		"gates":              {[]string{"--feature-gates=ALBSingleSubnet=true"}, []string{"--feature-gates=ALBSingleSubnet=false,NLBGatewayAPI=false"}, InheritedFlags{DifferingFlags: []string{"--feature-gates=ALBSingleSubnet=false,NLBGatewayAPI=false"}}, "--feature-gates=ALBSingleSubnet=true,NLBGatewayAPI=false"},
		"after one dash":     {nil, []string{"--strict-groups", "-v", "2"}, InheritedFlags{Flags: []string{"--strict-groups=true"}}, "--strict-groups=true"},
		"no flags":           {nil, []string{"controller", "-v", "2"}, InheritedFlags{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := Default()
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			c.AddFlags(fs)
			if err := fs.Parse(tc.given); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, InheritFlags(fs, tc.args)); d != "" {
				t.Error(d)
			}
			if got := strings.Join(c.PublishedFlags(), " "); got != tc.is {
				t.Errorf("%s, want %s", got, tc.is)
			}
		})
	}
}
