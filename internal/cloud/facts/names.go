package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// notFoundAge returns how long the answer that a name does not exist is cached. names is the number of names that do not
// exist. Each of these names needs a separate call. The duration is long enough that all names together need at most one
// call every two seconds.
func notFoundAge(names int) time.Duration {
	return max(durations.NotFoundAge, time.Duration(names)*durations.NotFoundAgePerName)
}

// maxAge returns the function that sdk.Answers.GetWithAge needs. The function returns ifFound for a complete answer. If
// isMissing is true for the answer, it returns notFoundAge, which depends on the number of such answers.
func maxAge[T any](all *sdk.Answers[T], isMissing func(T) bool, ifFound time.Duration) func(T) time.Duration {
	return func(found T) time.Duration {
		if !isMissing(found) {
			return ifFound
		}
		return notFoundAge(all.Count(isMissing))
	}
}

// nameFacts finds security groups and target groups of any owner by the names, IDs and ARNs in Kubernetes objects.
type nameFacts struct {
	*sdk.Client
	inv            *inventory.Inventory
	securityGroups *sdk.Answers[observed.SecurityGroupAnswer]
	targetGroups   *sdk.Answers[string] // ARNs; "" if the target group does not exist
}

func newNameFacts(client *sdk.Client, inv *inventory.Inventory) *nameFacts {
	return &nameFacts{Client: client, inv: inv, securityGroups: sdk.NewAnswers[observed.SecurityGroupAnswer](client), targetGroups: sdk.NewAnswers[string](client)}
}

func (n *nameFacts) reset() {
	n.securityGroups.Expire()
	n.targetGroups.Expire()
}

// lookUpSecurityGroups finds security groups by ID, or by their Name tag in the VPC of the cluster. Names may contain the
// wildcards * and ?.
func (n *nameFacts) lookUpSecurityGroups(ctx context.Context, q model.AskNamedSecurityGroups) (observed.SecurityGroupAnswer, error) {
	hasMissing := func(a observed.SecurityGroupAnswer) bool { return len(a.Missing) > 0 }
	return n.securityGroups.GetWithAge(ctx, q.Key(), maxAge(n.securityGroups, hasMissing, n.Config.Refresh), func(ctx context.Context) (observed.SecurityGroupAnswer, error) {
		return n.readSecurityGroups(ctx, q)
	})
}

func (n *nameFacts) readSecurityGroups(ctx context.Context, q model.AskNamedSecurityGroups) (observed.SecurityGroupAnswer, error) {
	var ids, names []string
	for _, r := range q.List {
		if strings.HasPrefix(r, "sg-") {
			ids = append(ids, r)
		} else {
			names = append(names, r)
		}
	}
	out := observed.SecurityGroupAnswer{ByName: map[string][]string{}}
	// The IDs are sent as a filter, because AWS refuses a call with a list of IDs if one of the IDs does not exist.
	if len(ids) > 0 {
		err := n.forEachSecurityGroup(ctx, sdk.Filters("group-id", sdk.SortedUnique(ids)...), func(id, _ string) { out.ByID = append(out.ByID, id) })
		if err != nil {
			return out, err
		}
	}
	if names = sdk.SortedUnique(names); len(names) > 0 {
		f := append(sdk.Filters("vpc-id", n.VPC), sdk.Filter("tag:"+convert.NameTag, names...))
		found := map[string]map[string]bool{} // distinct Name tags by name in the question
		err := n.forEachSecurityGroup(ctx, f, func(id, name string) {
			// AWS treats * and ? in the values of a filter as wildcards.
			for _, r := range names {
				if glob.Match(r, name, glob.AllEscapes) {
					out.ByName[r] = append(out.ByName[r], id)
					if found[r] == nil {
						found[r] = map[string]bool{}
					}
					found[r][name] = true
				}
			}
		})
		if err != nil {
			return out, err
		}
		for r, distinct := range found {
			if len(distinct) > 1 {
				delete(out.ByName, r) // ambiguous: the wildcards match security groups with different names
			}
		}
	}
	// The result is in the order of the question, not in the order of the answer of AWS.
	slices.SortFunc(out.ByID, func(a, b string) int { return slices.Index(ids, a) - slices.Index(ids, b) })
	for _, found := range out.ByName {
		slices.Sort(found)
	}
	for _, r := range q.List {
		if !slices.Contains(out.ByID, r) && len(out.ByName[r]) == 0 {
			out.Missing = append(out.Missing, r)
		}
	}
	return out, nil
}

func (n *nameFacts) forEachSecurityGroup(ctx context.Context, f []ec2types.Filter, do func(id, name string)) error {
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), ec2.NewDescribeSecurityGroupsPaginator(n.API.EC2, &ec2.DescribeSecurityGroupsInput{Filters: f})) {
		if err != nil {
			return fmt.Errorf("find security groups: %w", err)
		}
		for _, g := range page.SecurityGroups {
			do(aws.ToString(g.GroupId), convert.EC2TagsFromAWS(g.Tags)[convert.NameTag])
		}
	}
	return nil
}

// namespaceOfTargetGroup returns the namespace of the object for which the controller created a target group. known is false
// if the inventory does not contain the target group, if the cluster does not own it, or if its tags contain no namespace.
func namespaceOfTargetGroup(v *inventory.Inventory, arn string) (namespace string, known bool) {
	v.WithReadLock(func() {
		e := v.TargetGroups.Get(arn)
		if e == nil || !naming.BelongsToCluster(v.Cluster, e.Seen.Tags) {
			return
		}
		for _, k := range model.Kinds {
			if id, ok := e.Seen.Tags[naming.ResourceTag(k)]; ok {
				namespace, _, known = strings.Cut(id, "/")
			}
		}
	})
	return namespace, known
}

// lookUpTargetGroup returns the ARN of a target group of any owner by name or ARN, or "" if it does not exist. Most target
// groups are in the inventory, and need no call.
func (n *nameFacts) lookUpTargetGroup(ctx context.Context, ref string) (string, error) {
	arn, known := "", false
	n.inv.WithReadLock(func() {
		for a := range n.inv.TargetGroups.EntriesWithKey(inventory.ByName, ref) {
			arn, known = a, true
		}
		if n.inv.TargetGroups.Get(ref) != nil {
			arn, known = ref, true
		}
	})
	if known {
		return arn, nil
	}
	isMissing := func(arn string) bool { return arn == "" }
	return n.targetGroups.GetWithAge(ctx, "target group "+ref, maxAge(n.targetGroups, isMissing, durations.NotFoundAge), func(ctx context.Context) (string, error) {
		in := &elb.DescribeTargetGroupsInput{Names: []string{ref}}
		if strings.HasPrefix(ref, "arn:") {
			in = &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{ref}}
		}
		out, err := n.API.ELB.DescribeTargetGroups(sdk.WithOptional(ctx), in)
		if err != nil && !sdk.IsGone(err) && sdk.ClassOf(err) != failure.Invalid {
			return "", fmt.Errorf("find target group %s: %w", ref, err)
		}
		if err != nil || len(out.TargetGroups) != 1 {
			return "", nil
		}
		return aws.ToString(out.TargetGroups[0].TargetGroupArn), nil
	})
}
