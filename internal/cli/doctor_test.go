package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// snapshot is all that an emulator has.
func snapshot(t *testing.T, em *emulator.Emulator) string {
	t.Helper()
	em.Store().Lock()
	defer em.Store().Unlock()
	data, err := em.Store().Export()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// examined runs doctor against a cluster and returns what it says, without what differs from run to run.
func examined(t *testing.T, config string, flags []string, more ...string) (code int, out string) {
	t.Helper()
	code, out, stderr := with(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"doctor"}, more, flags)...)
	return code, out + stderr
}

// whole adds to a cluster what doctor expects of one.
func (a *apiServer) whole(t *testing.T) {
	t.Helper()
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		a.manifest(t, string(doc))
	}
	a.manifest(t, fmt.Sprintf(`apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {namespace: kube-system, name: aws-load-balancer-controller-leader}
spec: {holderIdentity: fulcrum-0, renewTime: %q}
`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))
}

// A cluster in which everything is in order gets no error, and nothing is changed by looking.
func TestDoctorOfAHealthyCluster(t *testing.T) {
	em, flags := aws(t)
	server, config := serveCluster(t, classYAML)
	server.whole(t)
	server.webhooks(t, time.Now().Add(365*24*time.Hour), true)
	before := snapshot(t, em)
	code, out := examined(t, config, flags)
	for _, want := range []string{
		"ok      kubernetes   API server v1.36.3 at http://", "ok      definitions  6 custom resource definitions are as this version has them\n",
		"ok      controller   \"fulcrum-0\" has the Lease kube-system/aws-load-balancer-controller-leader\n", "ok      webhooks     2 webhooks have a valid CA and ready endpoints\n",
		"ok      credentials  arn:aws:", "ok      discovery    region us-west-2, VPC vpc-", "ok      discovery    subnets for scheme internal: subnet-",
		"ok      discovery    subnets for scheme internet-facing: subnet-", "actions were tried and are granted to arn:aws:",
		"ok      quotas       application-load-balancers: 0 of 50 in use\n", "ok      orphans      every AWS resource with the tags of cluster \"rig\" belongs to an object\n",
		"0 errors, 0 warnings\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	if t.Failed() {
		t.Log(out)
	}
	if d := cmp.Diff(before, snapshot(t, em)); d != "" {
		t.Errorf("doctor has changed AWS: %.500s", d)
	}
}

// Each thing that is wrong has a line of its own that says how to put it right.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	em, flags := aws(t)
	server, config := serveCluster(t, classYAML)
	docs, err := crd.Documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		text := string(doc)
		switch {
		case strings.Contains(text, "name: targetgroupbindings.elbv2.k8s.aws"):
			continue
		case strings.Contains(text, "name: ingressclassparams.elbv2.k8s.aws"):
			text = strings.Replace(text, "              ipamConfiguration:", "              otherConfiguration:", 1)
		}
		server.manifest(t, text)
	}
	server.webhooks(t, time.Now().Add(-time.Hour), false)
	em.Faults().Add(fault.Rule{Operation: "DescribeRules", Action: fault.Action{Deny: true}})
	em.Faults().Add(fault.Rule{Operation: "CreateSecurityGroup", Action: fault.Action{Deny: true}})
	code, out := examined(t, config, flags)
	for _, want := range []string{
		"error   definitions  targetgroupbindings.elbv2.k8s.aws is not installed; run \"kubectl apply -f config/crd\"\n",
		"warning definitions  ingressclassparams.elbv2.k8s.aws is older than this version: it lacks v1beta1.spec.ipamConfiguration; run",
		"warning controller   no controller has ever had the Lease kube-system/aws-load-balancer-controller-leader; start it",
		"error   webhooks     webhook vingress.elbv2.k8s.aws: its CA expired at ",
		"may not call elasticloadbalancing:DescribeRules, which is needed to compare listener rules; grant it to the role, see config/iam/policy.json\n",
		"may not call ec2:CreateSecurityGroup, which is needed to make the security groups of load balancers; grant it",
		"4 errors",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	_, asJSON, _ := with(t, "", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{"doctor", "-o=json"}, flags)...)
	var doc doctorDocument
	if err := json.Unmarshal([]byte(asJSON), &doc); err != nil || doc.Errors != 4 || len(doc.Checks) < 10 {
		t.Errorf("%v, %d errors", err, doc.Errors)
	}
	if t.Failed() {
		t.Log(out)
	}
}

// Where neither the API server nor AWS answers, doctor says so and ends.
func TestDoctorWithoutAnything(t *testing.T) {
	_, flags := aws(t)
	config := filepath.Join(filesIn(t, map[string]string{"config": kubeconfigOf(refused(t))}), "config")
	flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--aws-api-endpoints") })
	t.Setenv("AWS_ENDPOINT_URL", "http://"+refused(t))
	t.Setenv("AWS_REGION", os.Getenv("AWS_REGION"))
	code, out := examined(t, config, flags, "--aws-max-retries=1")
	if code != 1 || !strings.Contains(out, "error   kubernetes   the API server at ") || !strings.Contains(out, "error   credentials  AWS does not answer at ") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// During a rotation the bundle has the CA of before, which may have expired, and the new one.
func TestABundleIsGoodAsLongAsOneOfItsCAs(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority := func(until time.Time) []byte {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-1, 0, 0), NotAfter: until, IsCA: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	expired, valid := authority(now.AddDate(0, 0, -1)), authority(now.AddDate(1, 0, 0))
	for _, bundle := range [][]byte{slices.Concat(expired, valid), slices.Concat(valid, expired)} {
		if until, err := lastExpiry(bundle); err != nil || !until.Equal(now.AddDate(1, 0, 0)) {
			t.Errorf("%v, %v", until, err)
		}
	}
	if _, err := lastExpiry([]byte("no certificate")); err == nil {
		t.Error("text without a certificate is a bundle")
	}
}
