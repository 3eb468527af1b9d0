package model

import "slices"

// redirectIndex has the redirects that come before a rule, by the hosts and paths that they cover.
type redirectIndex struct {
	shadowing Shadowing
	byValue   map[coveredHostAndPath][]Rule
}

// coveredHostAndPath is a host and a path that a redirect covers. An empty host means all hosts, an empty path all paths.
type coveredHostAndPath struct{ host, path string }

// addRedirect adds a redirect to the index, but only if it has no conditions other than hosts and paths. With other
// conditions, it may not answer all requests of a rule.
func (d *redirectIndex) addRedirect(e Rule) {
	if !hasOnlyHostsAndPaths(e) {
		return
	}
	hosts, paths := valueKeys(coveredHosts(e, d.shadowing)), valueKeys(pathValues(e))
	if slices.Contains(pathValues(e).plain, allPaths) || len(paths) == 0 {
		paths = []string{""}
	}
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	if d.byValue == nil {
		d.byValue = map[coveredHostAndPath][]Rule{}
	}
	for _, h := range hosts {
		for _, p := range paths {
			d.byValue[coveredHostAndPath{h, p}] = append(d.byValue[coveredHostAndPath{h, p}], e)
		}
	}
}

// isShadowed reports whether a redirect in the index answers all requests of a rule. Such a redirect covers every host and
// every path of the rule, so hasShadowing need only compare the redirects for one host and one path.
func (d *redirectIndex) isShadowed(r Rule) bool {
	if len(d.byValue) == 0 {
		return false
	}
	hosts, paths := valueKeys(hostValues(r)), valueKeys(pathValues(r))
	return d.hasShadowing(r, []string{""}, []string{""}) || d.hasShadowing(r, hosts, []string{""}) || d.hasShadowing(r, []string{""}, paths) || d.hasShadowing(r, hosts, paths)
}

// hasShadowing reports whether one of the redirects for the given hosts and paths answers all requests of a rule. It
// compares only the redirects for the pair of host and path that has the fewest redirects.
func (d *redirectIndex) hasShadowing(r Rule, hosts, paths []string) bool {
	var rarest []Rule
	for i, h := range hosts {
		for j, p := range paths {
			if of := d.byValue[coveredHostAndPath{h, p}]; i+j == 0 || len(of) < len(rarest) {
				rarest = of
			}
		}
	}
	return slices.ContainsFunc(rarest, func(e Rule) bool { return shadows(e, r, d.shadowing) })
}

// valueKeys returns values of conditions as keys of the index. A plain value and a regular expression with the same text
// have different keys.
func valueKeys(v values) []string {
	out := make([]string, 0, len(v.plain)+len(v.regex))
	for _, s := range v.plain {
		out = append(out, "="+s)
	}
	for _, s := range v.regex {
		out = append(out, "~"+s)
	}
	return out
}
