package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// SecurityGroupIDs returns the ids of those security groups that exist already, and reports whether all of them exist.
func (d *Draft) SecurityGroupIDs(groups []plan.SecurityGroupRef) (ids []string, complete bool) {
	complete = true
	for _, g := range groups {
		id := g.ID
		if id == "" {
			id = d.KnownIDs[g.Address]
		}
		if id == "" {
			complete = false
			continue
		}
		ids = append(ids, id)
	}
	return ids, complete
}

// SubnetFacts returns subnets as AWS describes them, in the order of ids. It first uses the answer to asked, the question by
// which the subnets of the stack are chosen. For other subnets, such as observed subnets that are retained, it adds a
// separate question. known is false if a description is missing. fault is the reason why the separate question has no
// answer.
func (d *Draft) SubnetFacts(ids []string, asked model.AskSubnets) (out []observed.Subnet, known bool, fault *observed.Fault) {
	q := model.SubnetQuestion(model.SubnetsNamed{Refs: slices.Sorted(slices.Values(ids))}, "", true)
	for _, id := range ids {
		for _, key := range []string{asked.Key(), q.Key()} {
			of := d.Have.Facts.Subnets[key].Candidates
			if at := slices.IndexFunc(of, func(s observed.Subnet) bool { return s.ID == id }); at >= 0 {
				out = append(out, of[at])
				break
			}
		}
	}
	if len(out) == len(ids) {
		return out, true, nil
	}
	if f := d.ReadFault(q); f != nil {
		return nil, false, f
	}
	if _, asked := d.Have.Facts.Subnets[q.Key()]; !asked {
		d.Ask(q)
	}
	return nil, false, nil
}
