package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// cloud checks AWS: credentials, discovery, permissions and quotas.
func (d *doctor) cloud(ctx context.Context) {
	cc, err := d.CloudConfig()
	if err != nil {
		d.fail("credentials", err, "")
		return
	}
	aws, err := cloud.New(ctx, cc)
	if err != nil {
		d.fail("discovery", err, "set --aws-region and --aws-vpc-id where the instance metadata does not have them")
		return
	}
	d.checker = checks.New(aws)
	who, err := d.checker.Identity(ctx)
	if sdk.IsSilent(err) {
		d.fail("discovery", err, "")
		return
	}
	if err != nil {
		d.fail("credentials", err, "set AWS_PROFILE, or give the controller a role by IRSA or pod identity")
		return
	}
	d.aws, d.Cloud, d.VPC = aws, aws, aws.VPC()
	d.addResult("credentials", healthy, "", "%s of account %s", who.ARN, who.Account)
	d.addResult("discovery", healthy, "", "region %s, VPC %s", aws.Region(), aws.VPC())
	d.permissions(ctx, who, rights.AWS) // first, as it says what each right is for
	d.subnets(ctx)
	d.quotas(ctx)
	d.accelerators(ctx, who)
	d.imports(ctx)
}

// mostImportsRead bounds the calls that look for imported certificates.
const mostImportsRead = 500

// imports names the certificates that were imported from TLS Secrets and are not renewed without the flag. Who may not
// read the tags of certificates has imported none.
func (d *doctor) imports(ctx context.Context) {
	const area = "certificates"
	of, unseen, err := d.aws.ImportedCertificates(ctx, mostImportsRead)
	if err != nil {
		if !checks.Denied(err) {
			d.addResult(area, warned, "run doctor again later", "imported certificates cannot be read: %v", sdk.Explain(err))
		}
		return
	}
	for _, secrets := range []struct {
		flag, of string
		kinds    []model.Kind
	}{
		{config.IngressSecrets, "Ingresses", []model.Kind{model.Ingress}},
		{config.GatewaySecrets, "Gateways", []model.Kind{model.ALBGateway, model.NLBGateway}},
	} {
		n := 0
		for _, k := range secrets.kinds {
			n += of[k]
		}
		switch {
		case n > 0 && !d.Config.Imports(secrets.flag):
			d.addResult(area, warned, fmt.Sprintf("start the controller with --import-tls-secrets=%s, or delete those that no listener has", secrets.flag),
				"%s of TLS Secrets of %s are not renewed, because --import-tls-secrets does not name %q", output.Amount(n, "imported certificate"), secrets.of, secrets.flag)
		case n > 0:
			d.addResult(area, healthy, "", "%s of TLS Secrets of %s", output.Amount(n, "imported certificate"), secrets.of)
		}
	}
	if unseen > 0 {
		d.addResult(area, healthy, "", "%d certificates were not looked at, so that the calls stay few", unseen)
	}
}

// subnets chooses subnets for load balancers of each scheme, as a plan does.
func (d *doctor) subnets(ctx context.Context) {
	const area = "discovery"
	told := false
	for _, scheme := range []model.Scheme{model.Internal, model.InternetFacing} {
		q := model.SubnetQuestion(model.SubnetsDiscovered{}, scheme, false)
		have, err := d.aws.Observe(ctx, model.StackID{Kind: model.Ingress, Namespace: "fulcrum", Name: "doctor"}, []model.Question{q})
		if err == nil {
			if f := have.Facts.Fault(q); f != nil {
				err = fmt.Errorf("%s", f.Message)
			}
		}
		if err != nil {
			d.fail(area, err, "grant the actions that describe load balancers and subnets, see config/iam/policy.json")
			continue
		}
		answer := have.Facts.Subnets[q.Key()]
		if unknown := input.UnknownClusterWarning(d.Config.ClusterName, have.Facts.Subnets); unknown != "" && !told {
			told = true
			d.addResult(area, warned, input.ClusterNameFix, "%s", unknown)
		}
		chosen, fault := network.ChooseSubnets(network.SubnetRequest{
			Choice: model.SubnetsDiscovered{}, Scheme: scheme, AddressType: model.IPv4, ALB: true, Cluster: d.Config.ClusterName,
			ClusterTagCheck: d.Config.Gates.On(config.SubnetsClusterTagCheck), SingleSubnet: d.Config.Gates.On(config.ALBSingleSubnet),
		}, answer)
		switch {
		case fault != nil:
			d.addResult(area, warned, fault.Fix, "subnets for scheme %s: %s", scheme, fault.Message)
		case answer.ByReachability:
			d.addResult(area, healthy, "", "subnets for scheme %s: %s, found by their routes as none has the tag %s", scheme, output.JoinFirst(chosen.IDs), network.RoleTag(scheme))
		default:
			d.addResult(area, healthy, "", "subnets for scheme %s: %s", scheme, output.JoinFirst(chosen.IDs))
		}
	}
}

// yours names the principal whose permissions were checked.
const yours = ", which are the rights of your credentials; the controller's may differ"

// permissions tries each action of a table of permissions, of those that are needed.
func (d *doctor) permissions(ctx context.Context, who checks.Identity, table []rights.Statement) {
	const area = "permissions"
	granted, tried := 0, map[string]bool{}
	var unknown []string
	for _, s := range table {
		if !isStatementNeeded(s) {
			continue
		}
		for _, a := range s.Actions {
			if tried[a.Name] {
				continue
			}
			tried[a.Name] = true
			p, err := d.checker.Permission(ctx, a.Name)
			switch {
			case p == checks.PermissionRefused:
				right, _ := missingPermission(err)
				d.noteMissingPermission(right, area)
				d.addResult(area, broken, "grant it to the role, see "+policyOf(s), "%s may not call %s, which is needed to %s", who.ARN, a.Name, a.Why)
			case p == checks.PermissionGranted:
				granted++
			case err != nil:
				d.addResult(area, warned, "", "%s could not be tried: %v", a.Name, sdk.Explain(err))
			default:
				unknown = append(unknown, a.Name)
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
	d.addResult(area, healthy, "", "%d of %d actions were tried and are granted to %s"+yours, granted, len(tried), who.ARN)
	if len(unknown) > 0 {
		slices.Sort(unknown)
		d.simulatePolicy(ctx, who, table, unknown)
	}
}

// isStatementNeeded reports whether every installation needs a statement, or this one, which serves accelerators.
func isStatementNeeded(s rights.Statement) bool {
	return s.Feature == "" || s.Feature == rights.GateAccelerators
}

// policyOf returns the file of the policy that has a statement.
func policyOf(s rights.Statement) string {
	if s.Feature == rights.GateAccelerators {
		return "config/iam/" + rights.AcceleratorsFile
	}
	return "config/iam/policy.json"
}

// services counts actions by service.
func services(actions []string) []string {
	count := map[string]int{}
	var order []string
	for _, a := range actions {
		service, _, _ := strings.Cut(a, ":")
		if count[service]++; count[service] == 1 {
			order = append(order, service)
		}
	}
	for i, s := range order {
		order[i] = fmt.Sprintf("%d of %s", count[s], s)
	}
	return order
}

// fullAt is the part of a quota, in percent, from which it is a warning.
const fullAt = 80

func (d *doctor) quotas(ctx context.Context) {
	const area = "quotas"
	usage, unseen, err := d.checker.Usage(ctx)
	if err != nil {
		fix := "run doctor again later"
		if checks.Denied(err) {
			fix = "grant whoever runs doctor the actions that describe resources, see config/iam/policy.json"
		}
		d.addUnchecked(area, warned, err, fix, "quotas cannot be read: ")
		return
	}
	d.checkUsage(usage)
	if unseen > 0 {
		d.addResult(area, healthy, "", "%d load balancers and target groups were not looked at, so that the calls stay few", unseen)
	}
}

// checkUsage shows how much of quotas is in use.
func (d *doctor) checkUsage(list []checks.Usage) {
	for _, u := range list {
		result, fix := healthy, ""
		switch {
		case u.Most > 0 && u.Used >= u.Most && !u.Default:
			result, fix = broken, "ask AWS for more in Service Quotas, or delete what is not needed"
		case u.Most > 0 && u.Used*100 >= u.Most*fullAt:
			result, fix = warned, "ask AWS for more in Service Quotas"
		}
		text := fmt.Sprintf("%s: %d of %d", u.Name, u.Used, u.Most)
		if u.Default {
			text += " (the default of AWS)"
		}
		text += " in use"
		if u.Of != "" {
			text += " by " + u.Of + ", which has most"
		}
		d.addResult("quotas", result, fix, "%s", text)
	}
}
