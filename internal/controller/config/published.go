package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// ownFlags are the flags of one process: where it finds its servers, where it listens, how much it does at once, what it
// logs. A command neither learns them from a controller nor could use them; above all it is never led to another
// address by what it has read.
var ownFlags = []string{
	"kubeconfig", "aws-api-endpoints", "aws-api-throttle", "aws-max-retries", "aws-vpc-tags", "aws-vpc-tag-key",
	"log-level", "log-format", "shadow", "shadow-report",
	"metrics-bind-addr", "health-probe-bind-addr", "profiling-bind-addr", "webhook-bind-port", "webhook-cert-dir", "webhook-cert-file",
	"webhook-key-file", "kube-ca-pem-filepath",
	"enable-leader-election", "leader-election-id", "leader-election-namespace",
	"ingress-max-concurrent-reconciles", "service-max-concurrent-reconciles", "alb-gateway-max-concurrent-reconciles",
	"nlb-gateway-max-concurrent-reconciles", "gateway-class-max-concurrent-reconciles", "targetgroupbinding-max-concurrent-reconciles",
	"targetgroupbinding-requeue-duration", "targetgroupbinding-max-exponential-backoff-delay", "targetgroupbinding-deferral-window",
	"globalaccelerator-max-concurrent-reconciles", "globalaccelerator-max-exponential-backoff-delay",
}

// Published returns the flags that decide what the controller does with objects, where they are not at their default, as
// --NAME=VALUE in order. Commands take them over, so that they show what the controller does.
func (c Config) Published() []string {
	d := Default()
	given, defaults := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Bind(given)
	d.Bind(defaults)
	var out []string
	given.VisitAll(func(f *pflag.Flag) {
		if v := flagValue(f); v != flagValue(defaults.Lookup(f.Name)) && !slices.Contains(ownFlags, f.Name) {
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}

// flagValue returns the value of a flag in the form in which it is given.
func flagValue(f *pflag.Flag) string {
	v := f.Value.String()
	if t := f.Value.Type(); t == "stringSlice" || t == "stringToString" {
		v = strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
	}
	return v
}

// TakenOver is what TakeOver has done.
type TakenOver struct {
	// Flags have another value now, as --NAME=VALUE.
	Flags []string
	// Differing were given with another value, which stays.
	Differing []string
	// Unavailable are the flags that cannot be read, because this version does not know them or their value.
	Unavailable []string
}

// TakeOver sets what was not given on a command line, whose flags are fs, to the arguments of a controller.
func TakeOver(fs *pflag.FlagSet, args []string) TakenOver {
	var out TakenOver
	given := map[string]bool{}
	for _, arg := range joinFlagValues(args) {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		given[name] = true
		f := fs.Lookup(name)
		if slices.Contains(ownFlags, name) {
			continue
		}
		d := Default()
		one := pflag.NewFlagSet("", pflag.ContinueOnError)
		d.Bind(one)
		theirs := one.Lookup(name)
		if theirs != nil && !hasValue {
			value = theirs.NoOptDefVal
		}
		if f == nil || theirs == nil || strings.Contains(value, "$(") || one.Set(name, value) != nil {
			out.Unavailable = append(out.Unavailable, "--"+name)
			continue
		}
		text := flagValue(theirs)
		switch mine := flagValue(f); {
		case mine == text:
		case f.Changed && name == GatesFlag:
			// Gates that were given count, and the others are those of the controller.
			_ = f.Value.Set(text)
			_ = f.Value.Set(mine)
			if flagValue(f) != text {
				out.Differing = append(out.Differing, fmt.Sprintf("--%s=%s", name, text))
			}
		case f.Changed:
			out.Differing = append(out.Differing, fmt.Sprintf("--%s=%s", name, text))
		case f.Value.Set(text) == nil:
			out.Flags = append(out.Flags, fmt.Sprintf("--%s=%s", name, text))
		}
	}
	out.Differing = append(out.Differing, otherThanDefaults(fs, given)...)
	return out
}

// withoutDefault are flags of which no default can be shown: a controller that is not given a region or a VPC finds them,
// and the text of gates may have those that are at their default.
var withoutDefault = []string{"cluster-name", "aws-region", "aws-vpc-id", GatesFlag}

// otherThanDefaults returns the defaults that a controller has for flags which it was not given, where the command line
// gives them with another value.
func otherThanDefaults(fs *pflag.FlagSet, given map[string]bool) []string {
	d := Default()
	defaults := pflag.NewFlagSet("", pflag.ContinueOnError)
	d.Bind(defaults)
	var out []string
	fs.Visit(func(f *pflag.Flag) {
		theirs := defaults.Lookup(f.Name)
		if theirs == nil || given[f.Name] || slices.Contains(ownFlags, f.Name) || slices.Contains(withoutDefault, f.Name) {
			return
		}
		if text := flagValue(theirs); flagValue(f) != text {
			out = append(out, fmt.Sprintf("--%s=%s", f.Name, text))
		}
	})
	return out
}

// joinFlagValues writes arguments in which a flag and its value are two words as one.
func joinFlagValues(args []string) []string {
	var out []string
	for _, a := range args {
		last := len(out) - 1
		if !strings.HasPrefix(a, "-") && last >= 0 && !strings.Contains(out[last], "=") {
			out[last] += "=" + a
		} else if strings.HasPrefix(a, "--") {
			out = append(out, a)
		}
	}
	return out
}
