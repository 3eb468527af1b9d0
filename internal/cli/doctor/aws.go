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

// checkAWS checks credentials, region and VPC, permissions, subnets, quotas, accelerators and imported certificates. It sets
// the clients of d unless a check of the credentials fails.
func (d *doctor) checkAWS(ctx context.Context) {
	cc, err := d.CloudConfig()
	if err != nil {
		d.addFailure("credentials", err, "")
		return
	}
	aws, err := cloud.New(ctx, cc)
	if err != nil {
		d.addFailure("discovery", err, "set --aws-region and --aws-vpc-id where the instance metadata does not have them")
		return
	}
	d.checker = checks.New(aws)
	caller, err := d.checker.ReadIdentity(ctx)
	if sdk.IsUnanswered(err) {
		d.addFailure("discovery", err, "")
		return
	}
	if err != nil {
		d.addFailure("credentials", err, "set AWS_PROFILE, or give the controller a role by IRSA or pod identity")
		return
	}
	d.aws, d.Cloud, d.VPC = aws, aws, aws.VPC()
	d.addResult("credentials", resultOK, "", "%s of account %s", caller.ARN, caller.Account)
	d.addResult("discovery", resultOK, "", "region %s, VPC %s", aws.Region(), aws.VPC())
	d.checkPermissions(ctx, caller, rights.AWSStatements) // first, because its messages name the purpose of each permission
	d.checkSubnets(ctx)
	d.checkQuotas(ctx)
	d.checkAccelerators(ctx, caller)
	d.checkImportedCertificates(ctx)
}

// maxCertificatesRead is the maximum number of certificates whose tags doctor reads to find imported certificates.
const maxCertificatesRead = 500

// checkImportedCertificates reports how many certificates were imported from TLS Secrets. It warns about those that are not
// renewed because --import-tls-secrets does not name their kind. It reports no denied call, because only a controller that
// imports certificates needs the permission.
func (d *doctor) checkImportedCertificates(ctx context.Context) {
	const area = "certificates"
	imported, notChecked, err := d.aws.CountImportedCertificates(ctx, maxCertificatesRead)
	if err != nil {
		if !checks.IsDenied(err) {
			d.addResult(area, resultWarning, "run doctor again later", "imported certificates cannot be read: %v", sdk.Explain(err))
		}
		return
	}
	for _, secrets := range []struct {
		flag, objects string
		kinds         []model.Kind
	}{
		{config.IngressSecrets, "Ingresses", []model.Kind{model.Ingress}},
		{config.GatewaySecrets, "Gateways", []model.Kind{model.ALBGateway, model.NLBGateway}},
	} {
		n := 0
		for _, k := range secrets.kinds {
			n += imported[k]
		}
		switch {
		case n > 0 && !d.Config.ImportsSecretsOf(secrets.flag):
			d.addResult(area, resultWarning, fmt.Sprintf("start the controller with --import-tls-secrets=%s, or delete those that no listener has", secrets.flag),
				"%s of TLS Secrets of %s are not renewed, because --import-tls-secrets does not name %q", output.CountWithNoun(n, "imported certificate"), secrets.objects, secrets.flag)
		case n > 0:
			d.addResult(area, resultOK, "", "%s of TLS Secrets of %s", output.CountWithNoun(n, "imported certificate"), secrets.objects)
		}
	}
	if notChecked > 0 {
		d.addResult(area, resultOK, "", "%d certificates were not checked, to limit the number of AWS calls", notChecked)
	}
}

// checkSubnets chooses subnets for load balancers of each scheme as a plan does, and reports the result.
func (d *doctor) checkSubnets(ctx context.Context) {
	const area = "discovery"
	warnedUnknownCluster := false
	failed := "" // the last reported error; if both schemes fail with the same error, it is reported only once
	for _, scheme := range []model.Scheme{model.Internal, model.InternetFacing} {
		q := model.SubnetQuestion(model.SubnetsDiscovered{}, scheme, false)
		have, err := d.aws.Observe(ctx, model.StackID{Kind: model.Ingress, Namespace: "fulcrum", Name: "doctor"}, []model.Question{q})
		if err == nil {
			if f := have.Facts.Fault(q); f != nil {
				err = fmt.Errorf("%s", f.Message)
			}
		}
		if err != nil {
			if failed != err.Error() {
				d.addFailure(area, err, "grant the actions that describe load balancers and subnets, see config/iam/policy.json")
			}
			failed = err.Error()
			continue
		}
		answer := have.Facts.Subnets[q.Key()]
		if unknown := input.UnknownClusterWarning(d.Config.ClusterName, have.Facts.Subnets); unknown != "" && !warnedUnknownCluster {
			warnedUnknownCluster = true
			d.addResult(area, resultWarning, input.ClusterNameFix, "%s", unknown)
		}
		chosen, fault := network.ChooseSubnets(network.SubnetRequest{
			Choice: model.SubnetsDiscovered{}, Scheme: scheme, AddressType: model.IPv4, ALB: true, Cluster: d.Config.ClusterName,
			ClusterTagCheck: d.Config.Gates.IsEnabled(config.SubnetsClusterTagCheck), SingleSubnet: d.Config.Gates.IsEnabled(config.ALBSingleSubnet),
		}, answer)
		switch {
		case fault != nil:
			d.addResult(area, resultWarning, fault.Fix, "subnets for scheme %s: %s", scheme, fault.Message)
		case answer.ByReachability:
			d.addResult(area, resultOK, "", "subnets for scheme %s: %s, chosen by their routes, because no subnet has the tag %s", scheme, output.JoinFirst(chosen.IDs), network.SubnetRoleTag(scheme))
		default:
			d.addResult(area, resultOK, "", "subnets for scheme %s: %s", scheme, output.JoinFirst(chosen.IDs))
		}
	}
}

// callerRightsNote is the end of messages about permissions. doctor checks the permissions of its user, not of the
// controller.
const callerRightsNote = " (your credentials); the permissions of the controller may differ"

// checkPermissions tries each action of the checked statements in table once, and reports the result. It simulates the
// actions that cannot be tried without a change.
func (d *doctor) checkPermissions(ctx context.Context, caller checks.Identity, table []rights.Statement) {
	const area = "permissions"
	granted, tried := 0, map[string]bool{}
	var unknown []string
	for _, s := range table {
		if !isStatementChecked(s) {
			continue
		}
		for _, a := range s.Actions {
			if tried[a.Name] {
				continue
			}
			tried[a.Name] = true
			p, err := d.checker.CheckPermission(ctx, a.Name)
			switch {
			case p == checks.PermissionRefused:
				right, _ := missingPermission(err)
				d.recordMissingPermission(right, area)
				d.addResult(area, resultError, "grant it to the role, see "+policyFileFor(s), "%s may not call %s, which is needed to %s", caller.ARN, a.Name, a.Reason)
			case p == checks.PermissionGranted:
				granted++
			case err != nil:
				d.addResult(area, resultWarning, "", "%s could not be tried: %v", a.Name, sdk.Explain(err))
			default:
				unknown = append(unknown, a.Name)
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
	d.addResult(area, resultOK, "", "%d of %d actions were tried and are granted to %s"+callerRightsNote, granted, len(tried), caller.ARN)
	if len(unknown) > 0 {
		slices.Sort(unknown)
		d.simulatePolicy(ctx, caller, table, unknown)
	}
}

// isStatementChecked reports whether doctor checks a statement: every installation needs it, or GlobalAccelerators need it.
// The callers pass statements for GlobalAccelerators only if the feature gate is on.
func isStatementChecked(s rights.Statement) bool {
	return s.Feature == "" || s.Feature == rights.GateAccelerators
}

// policyFileFor returns the path of the policy file that contains a statement.
func policyFileFor(s rights.Statement) string {
	if s.Feature == rights.GateAccelerators {
		return "config/iam/" + rights.AcceleratorsFile
	}
	return "config/iam/policy.json"
}

// countByService returns a text such as "3 of ec2" for each service of the actions, in the order of their first actions.
func countByService(actions []string) []string {
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

// quotaWarningPercent is the usage of a quota, in percent, from which doctor warns.
const quotaWarningPercent = 80

// checkQuotas reads and reports the usage of quotas.
func (d *doctor) checkQuotas(ctx context.Context) {
	const area = "quotas"
	usage, notChecked, err := d.checker.ReadUsage(ctx)
	if err != nil {
		fix := "run doctor again later"
		if checks.IsDenied(err) {
			fix = "grant the user of doctor the actions that describe resources, see config/iam/policy.json"
		}
		d.addUnchecked(area, resultWarning, err, fix, "quotas cannot be read: ")
		return
	}
	d.reportUsage(usage)
	if notChecked > 0 {
		d.addResult(area, resultOK, "", "%d load balancers and target groups were not checked, to limit the number of AWS calls", notChecked)
	}
}

// reportUsage adds a result for each quota. It is an error if the quota is used up, and a warning from quotaWarningPercent.
// If the limit is only the default of AWS, it is at most a warning, because the real quota may be higher.
func (d *doctor) reportUsage(list []checks.Usage) {
	for _, u := range list {
		result, fix := resultOK, ""
		switch {
		case u.Limit > 0 && u.Used >= u.Limit && !u.IsDefault:
			result, fix = resultError, "request a higher quota in Service Quotas, or delete unused resources"
		case u.Limit > 0 && u.Used*100 >= u.Limit*quotaWarningPercent:
			result, fix = resultWarning, "request a higher quota in Service Quotas"
		}
		text := fmt.Sprintf("%s: %d of %d", u.Name, u.Used, u.Limit)
		if u.IsDefault {
			text += " (the default of AWS)"
		}
		text += " in use"
		if u.Resource != "" {
			text += " by " + u.Resource + ", which uses most"
		}
		d.addResult("quotas", result, fix, "%s", text)
	}
}
