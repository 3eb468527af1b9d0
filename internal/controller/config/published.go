package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// processFlags are the flags that concern only one process: addresses to connect to and to listen on, concurrency, and logs.
// Commands do not inherit these flags from a controller, because commands do not need the values, and must not send requests
// to an address that was read from the cluster.
var processFlags = []string{
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

// PublishedFlags returns the flags whose value is not the default, except processFlags, as --NAME=VALUE ordered by name.
// Commands inherit these values, so that their plans are the same as the plans of the controller.
func (c Config) PublishedFlags() []string {
	defaults := flagsOf(Default())
	var out []string
	flagsOf(c).VisitAll(func(f *pflag.Flag) {
		if v := flagValue(f); v != flagValue(defaults.Lookup(f.Name)) && !slices.Contains(processFlags, f.Name) {
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out
}

// flagsOf returns a flag set in which the flags have the values of a configuration.
func flagsOf(c Config) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.AddFlags(out)
	return out
}

// flagValue returns the value of a flag as it is written on a command line.
func flagValue(f *pflag.Flag) string {
	v := f.Value.String()
	if t := f.Value.Type(); t == "stringSlice" || t == "stringToString" {
		v = strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
	}
	return v
}

// InheritedFlags is the result of InheritFlags. Flags and DifferingFlags have the form --NAME=VALUE, with the value of the
// controller.
type InheritedFlags struct {
	// Flags are the flags of the command that InheritFlags has set to the value of the controller.
	Flags []string
	// DifferingFlags are the flags for which the command line has another value than the controller. The command uses the
	// value of the command line.
	DifferingFlags []string
	// UnavailableFlags are the flags of the controller that the command cannot inherit, as --NAME. The reason is that this
	// version does not have the flag or cannot parse its value, or that the value contains an environment variable.
	UnavailableFlags []string
}

// InheritFlags sets flags of a command to the values that they have in args, the arguments of a controller. It does not
// change flags that the command line has set. It ignores processFlags.
func InheritFlags(fs *pflag.FlagSet, args []string) InheritedFlags {
	var out InheritedFlags
	given := map[string]bool{}
	for _, arg := range joinFlagValues(args) {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		given[name] = true
		f := fs.Lookup(name)
		if slices.Contains(processFlags, name) {
			continue
		}
		one := flagsOf(Default())
		theirs := one.Lookup(name)
		if theirs != nil && !hasValue {
			value = theirs.NoOptDefVal
		}
		if f == nil || theirs == nil || strings.Contains(value, "$(") || one.Set(name, value) != nil {
			out.UnavailableFlags = append(out.UnavailableFlags, "--"+name)
			continue
		}
		text := flagValue(theirs)
		switch mine := flagValue(f); {
		case mine == text:
		case f.Changed && name == GatesFlag:
			// The feature gates of the command line are set again after the feature gates of the controller, so that the
			// command line has precedence.
			_ = f.Value.Set(text)
			_ = f.Value.Set(mine)
			if flagValue(f) != text {
				out.DifferingFlags = append(out.DifferingFlags, fmt.Sprintf("--%s=%s", name, text))
			}
		case f.Changed:
			out.DifferingFlags = append(out.DifferingFlags, fmt.Sprintf("--%s=%s", name, text))
		case f.Value.Set(text) == nil:
			out.Flags = append(out.Flags, fmt.Sprintf("--%s=%s", name, text))
		}
	}
	out.DifferingFlags = append(out.DifferingFlags, differingDefaults(fs, given)...)
	return out
}

// flagsWithoutDefault are flags whose value cannot be compared with the default. The cluster name has no default, the
// controller discovers its region and VPC, and --feature-gates may contain feature gates with their default value.
var flagsWithoutDefault = []string{"cluster-name", "aws-region", "aws-vpc-id", GatesFlag}

// differingDefaults returns flags that the command line sets to another value than the default, and that the controller does
// not set. given has the names of the flags that the controller sets. The result has the default of each flag, as
// --NAME=VALUE, because the controller uses the default.
func differingDefaults(fs *pflag.FlagSet, given map[string]bool) []string {
	defaults := flagsOf(Default())
	var out []string
	fs.Visit(func(f *pflag.Flag) {
		theirs := defaults.Lookup(f.Name)
		if theirs == nil || given[f.Name] || slices.Contains(processFlags, f.Name) || slices.Contains(flagsWithoutDefault, f.Name) {
			return
		}
		if text := flagValue(theirs); flagValue(f) != text {
			out = append(out, fmt.Sprintf("--%s=%s", f.Name, text))
		}
	})
	return out
}

// joinFlagValues returns arguments in which each flag and its value are one word: --NAME=VALUE. It omits other arguments.
func joinFlagValues(args []string) []string {
	var out []string
	takesValue := false // whether the next argument may be the value of the last flag
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "--"):
			out = append(out, a)
			takesValue = !strings.Contains(a, "=")
			continue
		case !strings.HasPrefix(a, "-") && takesValue:
			out[len(out)-1] += "=" + a
		}
		takesValue = false
	}
	return out
}
