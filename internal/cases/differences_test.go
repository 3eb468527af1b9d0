package cases

import (
	"encoding/json"
	"maps"
)

// difference is one that is meant: what the recorded expectation becomes, and why. The change is as
// narrow as possible, so that everything else of the case still counts.
type difference struct {
	what, why string
	change    func(Record)
}

// everywhere holds for all cases; of some it changes nothing.
var everywhere = []difference{
	{
		what: "the protocol of ports in the status of an Ingress is TCP, not empty",
		why:  "the field is required; API servers of newer versions refuse a status without it",
		change: func(r Record) {
			walk(map[string]any(r[objects]), func(m map[string]any) {
				if _, ok := m["port"]; ok && m["protocol"] == "" {
					m["protocol"] = "TCP"
				}
			})
		},
	},
}

// onPurpose are the differences of single cases.
var onPurpose = map[string][]difference{
	"ingress-group-conflict-scheme": {{
		what: "the group is built with the scheme of its first member, and the second one is told",
		why:  "one member must not take a whole group down; TestStrictGroups shows the recorded behaviour, which is an option",
		change: func(r Record) {
			replace(r, "ingress-group-conflict-scheme")
		},
	}},
	"service-tls-bad-port": {{
		what: "the Service carries the finalizer although nothing can be built",
		why:  "the finalizer comes first, so that nothing is ever made that a deletion would leave behind",
		change: func(r Record) {
			r.put(objects, "Service service-tls-bad-port/web", map[string]any{
				"finalizers": []any{"service.k8s.aws/resources"}, "status": map[string]any{"loadBalancer": map[string]any{}},
			})
		},
	}},
}

// later are cases whose feature does not exist yet: what is missing, and how that changes the
// expectation. Everything else of them counts.
var later = map[string]difference{}

// replace puts the expectation that is written in testdata/<name>.fulcrum.json into the place of
// the recorded one.
func replace(r Record, name string) {
	raw, err := testdata.ReadFile("testdata/" + name + ".fulcrum.json")
	var own Record
	if err == nil {
		err = json.Unmarshal(raw, &own)
	}
	if err != nil {
		panic(err) // a file of this package
	}
	clear(r)
	maps.Copy(r, own)
}
