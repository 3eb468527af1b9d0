package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

const acceleratorGate = "--feature-gates=GlobalAcceleratorController=true"

// createAccelerator creates an accelerator with the tags of a cluster and the given number of listeners. The status of the
// accelerator has been IN_PROGRESS for an hour.
func createAccelerator(t *testing.T, em *emulator.Emulator, cluster string, listeners int32) {
	t.Helper()
	cfg := harness.AWSConfig(em)
	cfg.Region = store.AcceleratorRegion
	api := ga.NewFromConfig(cfg)
	made, err := api.CreateAccelerator(t.Context(), &ga.CreateAcceleratorInput{Name: new("of-" + cluster), Tags: []gatypes.Tag{
		{Key: new("elbv2.k8s.aws/cluster"), Value: &cluster}, {Key: new("aga.k8s.aws/resource"), Value: new("GlobalAccelerator")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for port := range listeners {
		l, err := api.CreateListener(t.Context(), &ga.CreateListenerInput{AcceleratorArn: made.Accelerator.AcceleratorArn, Protocol: gatypes.ProtocolTcp, PortRanges: []gatypes.PortRange{{FromPort: new(port + 1), ToPort: new(port + 1)}}})
		if err == nil {
			_, err = api.CreateEndpointGroup(t.Context(), &ga.CreateEndpointGroupInput{ListenerArn: l.Listener.ListenerArn, EndpointGroupRegion: new("us-east-1"), PortOverrides: []gatypes.PortOverride{{ListenerPort: new(port + 1), EndpointPort: new(port + 1000)}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	em.Store().Lock()
	defer em.Store().Unlock()
	a := em.Store().AcceleratorState(harness.Account).Accelerators[*made.Accelerator.AcceleratorArn]
	a.Modified, a.Deployed = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
}

// checkDoctorOutput runs doctor for a cluster with the CustomResourceDefinitions and the given objects. It checks
// that the output has the texts of want and none of not. edit, if not nil, changes the CustomResourceDefinition of
// GlobalAccelerators.
func checkDoctorOutput(t *testing.T, em *emulator.Emulator, flags []string, edit func(definition string) string, want, not []string, objects ...string) {
	t.Helper()
	server, config := serveCluster(t, strings.Join(append([]string{classYAML}, objects...), "\n---\n"))
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		text := string(doc)
		if strings.Contains(text, "name: globalaccelerators.aga.k8s.aws") && edit != nil {
			text = edit(text)
		}
		server.addManifest(t, text)
	}
	_, out := runDoctor(t, config, flags)
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is missing", w)
		}
	}
	for _, w := range not {
		if strings.Contains(out, w) {
			t.Errorf("%q is there", w)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestDoctorChecksAccelerators checks that doctor reports slow changes of accelerators, their quotas, defaults and
// permissions if the feature gate is on. It does not name accelerators of another cluster, and changes nothing in AWS.
func TestDoctorChecksAccelerators(t *testing.T) {
	em, flags := startEmulator(t)
	createAccelerator(t, em, harness.ClusterName, 9)
	createAccelerator(t, em, "other", 10)
	before := emulatorState(t, em)
	defer func() {
		if before != emulatorState(t, em) {
			t.Error("doctor has changed AWS")
		}
	}()
	checkDoctorOutput(t, em, append(flags, acceleratorGate), nil, []string{
		"ok      quotas       accelerators: 2 of 20 (the default of AWS) in use\n",
		"warning quotas       listeners-per-accelerator: 9 of 10 (the default of AWS) in use by of-rig, which uses most; request a higher quota in Service Quotas\n",
		"ok      quotas       endpoint-groups-per-accelerator: 9 of 42 (the default of AWS) in use by of-rig, which uses most\n",
		"ok      quotas       port-overrides-per-endpoint-group: 1 of 10 (the default of AWS) in use by of-rig, which uses most\n",
		"warning accelerators accelerator \"of-rig\" has been in progress since ",
		"ok      definitions  defaults of GlobalAccelerators: ipAddressType IPV4, clientAffinity NONE, clientIPPreservationEnabled true, weight 128, trafficDialPercentage 100\n",
		"4 of 18 actions were tried and are granted to ",
	}, []string{"of-other"})
}

// TestDoctorListsAcceleratorsWithEndpointIDs checks that doctor lists GlobalAccelerators that name endpoints by ARN or ID,
// and the flag that limits these endpoints.
func TestDoctorListsAcceleratorsWithEndpointIDs(t *testing.T) {
	em, flags := startEmulator(t)
	const object = `
apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: edge, namespace: shop}
spec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: EndpointID, endpointID: i-0123}, {type: Ingress, name: web}, {type: EndpointID, endpointID: i-0123}]}]}]}
`
	const line = "ok      accelerators GlobalAccelerators that name endpoints by ARN or id: shop/edge (i-0123); "
	flags = append(flags, acceleratorGate)
	checkDoctorOutput(t, em, flags, nil, []string{line + "without --accelerator-endpoint-ids any endpoint of the account may be named\n"}, nil, object)
	checkDoctorOutput(t, em, append(flags, "--accelerator-endpoint-ids=i-*"), nil, []string{line + "--accelerator-endpoint-ids limits which endpoints may be named\n"}, nil, object)
	checkDoctorOutput(t, em, flags, nil, nil, []string{"by ARN or id"})
}

// TestDoctorSkipsAcceleratorsWithoutFeatureGate checks that doctor neither lists nor reports accelerators if the feature
// gate is off.
func TestDoctorSkipsAcceleratorsWithoutFeatureGate(t *testing.T) {
	em, flags := startEmulator(t)
	createAccelerator(t, em, harness.ClusterName, 1)
	em.Calls().Reset()
	checkDoctorOutput(t, em, flags, nil, nil, []string{"of-rig", "quotas       accelerators"})
	if n := em.Calls().Count("ListAccelerators"); n > 0 {
		t.Errorf("%d calls", n)
	}
}

// TestDoctorComparesDefaultsOfAccelerators checks that doctor warns if defaults in the CustomResourceDefinition of
// GlobalAccelerators differ from those of this version.
func TestDoctorComparesDefaultsOfAccelerators(t *testing.T) {
	em, flags := startEmulator(t)
	checkDoctorOutput(t, em, append(flags, acceleratorGate), func(definition string) string {
		return strings.Replace(strings.Replace(definition, "default: 128\n", "default: 100\n", 1), "default: IPV4\n", "nullable: true\n", 1)
	}, []string{"warning definitions  defaults of GlobalAccelerators differ from those of this version: v1beta1.spec.ipAddressType has no default, v1beta1.spec.listeners.endpointGroups.endpoints.weight has 100; run \"kubectl apply -f config/crd\"\n"}, nil)
}

// TestDoctorChecksPermissionsForAccelerators checks that doctor reports missing permissions for accelerators: to read, to
// change, and to set tags.
func TestDoctorChecksPermissionsForAccelerators(t *testing.T) {
	for name, c := range map[string]struct {
		sid, action string
		want        []string
	}{
		"nothing":             {"", "", []string{"permissions  14 of 14 actions that change AWS are allowed in a simulation"}},
		"a read":              {"ReadAccelerators", "globalaccelerator:ListAccelerators", []string{"may not call globalaccelerator:ListAccelerators, which is needed to find and compare accelerators", "see config/iam/accelerators.json", "accelerators cannot be read: not checked in full, as the right to call \"Global Accelerator ListAccelerators\" is missing, see \"permissions\"\n"}},
		"a change":            {"ChangeOwnAccelerators", "globalaccelerator:AddEndpoints", []string{"may not call globalaccelerator:AddEndpoints in a simulation of its policies", "needed to add endpoints to endpoint groups; grant it to the role, see config/iam/accelerators.json"}},
		"tags of the cluster": {"TagNewAccelerators", "globalaccelerator:TagResource", []string{"may not call globalaccelerator:TagResource in a simulation of its policies"}},
	} {
		t.Run(name, func(t *testing.T) {
			em, flags := startEmulator(t)
			restrictCredentials(t, em, rights.Policy("aws"), rights.OptionalPolicy(), rights.AcceleratorPolicy(c.sid, c.action))
			checkDoctorOutput(t, em, append(flags, acceleratorGate), nil, c.want, nil)
		})
	}
}

// TestDoctorReportsPartitionsWithoutAccelerators checks that doctor warns about the feature gate in a partition without AWS
// Global Accelerator. It calls no operation of AWS Global Accelerator there, and reports no permission for accelerators.
func TestDoctorReportsPartitionsWithoutAccelerators(t *testing.T) {
	for partition, region := range map[string]string{"aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"} {
		em := emulator.New(emulator.Options{Partition: partition})
		seeded, err := harness.Seed(t.Context(), em)
		if err != nil {
			t.Fatal(err)
		}
		flags := emulatorFlags(t, em, seeded.VPC)
		for i, f := range flags {
			if strings.HasPrefix(f, "--aws-region=") {
				flags[i] = "--aws-region=" + region
			}
		}
		checkDoctorOutput(t, em, append(flags, acceleratorGate), nil, []string{
			fmt.Sprintf("warning accelerators AWS Global Accelerator does not exist in partition %q of region %q, so GlobalAccelerators are not served; remove the feature gate", partition, region),
		}, []string{"globalaccelerator:"})
		if n := em.Calls().Count("ListAccelerators"); n > 0 {
			t.Errorf("%s: %d calls of AWS Global Accelerator", partition, n)
		}
	}
}
