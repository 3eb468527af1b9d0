package cases

// difference is one that is meant: what the recorded expectation becomes, and why. The change is as
// narrow as possible, so that everything else of the case still counts.
type difference struct {
	what, why string
	change    func(record)
}

// everywhere holds for all cases.
var everywhere = []difference{
	{
		what: "the protocol of ports in the status of an Ingress is TCP, not empty",
		why:  "the field is required; API servers of newer versions refuse a status without it",
		change: func(r record) {
			walk(map[string]any(r[objects]), func(m map[string]any) {
				if _, ok := m["port"]; ok && m["protocol"] == "" {
					m["protocol"] = "TCP"
				}
			})
		},
	},
	{
		what: "the wording of events is free",
		why:  "type and reason are what others depend on",
		change: func(r record) {
			for _, e := range r[events] {
				if m, ok := e.(map[string]any); ok {
					delete(m, "message")
				}
			}
		},
	},
}

// onPurpose are the differences of single cases.
var onPurpose = map[string][]difference{}

// later are cases whose feature does not exist yet, with what is missing. They run all the same.
var later = map[string]string{
	"ingress-frontend-nlb": "an NLB in front of the ALB is not built yet",
	"ingress-wafv2":        "web ACLs are not associated yet",
	"ingress-shield":       "protections are not made yet",
}
