package emulator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// startHTTPServer serves an emulator on a local port. It returns the emulator, its URL and an EC2 client that calls it.
func startHTTPServer(t *testing.T, o emulator.Options) (*emulator.Emulator, string, *ec2.Client) {
	t.Helper()
	em := emulator.New(o)
	server := httptest.NewServer(em.Handler())
	t.Cleanup(server.Close)
	cfg := clientConfig(em, testAccessKey)
	cfg.HTTPClient, cfg.BaseEndpoint = server.Client(), aws.String(server.URL)
	return em, server.URL, ec2.NewFromConfig(cfg)
}

// sendAdmin sends a request to the URL of an admin path. It returns the HTTP status and the decoded body of the response.
func sendAdmin(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return resp.StatusCode, out
}

func TestAdminExportAndRestore(t *testing.T) {
	_, url, c := startHTTPServer(t, emulator.Options{})
	id, err := createVPC(t, c)
	if err != nil {
		t.Fatal(err)
	}
	_, state := sendAdmin(t, "GET", url+"/_fulcrum/state", "")
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := sendAdmin(t, "POST", url+"/_fulcrum/reset", ""); status != 200 {
		t.Fatal("reset failed")
	}
	describe := func() error {
		_, err := c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}})
		return err
	}
	if err := describe(); code(err) != "InvalidVpcID.NotFound" {
		t.Errorf("after reset: %v", err)
	}
	if status, out := sendAdmin(t, "PUT", url+"/_fulcrum/state", string(text)); status != 200 {
		t.Fatal(out)
	}
	if err := describe(); err != nil {
		t.Errorf("after restore: %v", err)
	}
}

func TestAdminFaultsAndCalls(t *testing.T) {
	_, url, c := startHTTPServer(t, emulator.Options{})
	rule := `{"Operation": "CreateVpc", "Count": 1, "Action": {"Error": {"Code": "VpcLimitExceeded", "Message": "enough"}}}`
	if status, out := sendAdmin(t, "POST", url+"/_fulcrum/faults", rule); status != 200 {
		t.Fatal(out)
	}
	if _, err := createVPC(t, c); code(err) != "VpcLimitExceeded" {
		t.Errorf("first: %v", err)
	}
	if _, err := createVPC(t, c); err != nil {
		t.Errorf("second: %v", err)
	}
	_, out := sendAdmin(t, "GET", url+"/_fulcrum/calls?operation=CreateVpc", "")
	if calls := out["calls"].([]any); len(calls) != 2 || out["mutating"] != 2.0 {
		t.Errorf("calls: %v", out)
	}
	if status, _ := sendAdmin(t, "POST", url+"/_fulcrum/faults", `{"Colour": "red"}`); status != 400 {
		t.Error("an unknown member of a rule was taken")
	}
	if status, _ := sendAdmin(t, "GET", url+"/_fulcrum/nothing", ""); status != 404 {
		t.Error("an unknown path was served")
	}
}

func TestAdminLostResponseClosesTheConnection(t *testing.T) {
	em, url, c := startHTTPServer(t, emulator.Options{})
	sendAdmin(t, "POST", url+"/_fulcrum/faults", `{"Operation": "CreateVpc", "Action": {"Lose": true}}`)
	if _, err := createVPC(t, c); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("want a closed connection, got %v", err)
	}
	if n := countVPCs(em); n != 2 {
		t.Errorf("want the VPC made, got %d", n)
	}
}

func TestAdminClockConfigAndLimits(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	em, url, _ := startHTTPServer(t, emulator.Options{Clock: store.NewManualClock(start)})
	if status, out := sendAdmin(t, "POST", url+"/_fulcrum/clock", `{"advance": "90s"}`); status != 200 || out["now"] != "2026-01-01T00:01:30Z" {
		t.Error(out)
	}
	if _, out := sendAdmin(t, "PATCH", url+"/_fulcrum/config", `{"PageSize": 2, "Quotas": {"elastic-ips": 1}}`); out["PageSize"] != 2.0 {
		t.Error(out)
	}
	em.Store().Lock()
	if em.Store().Quota("elastic-ips", 100) != 1 || !em.Store().Config.Shuffle {
		t.Errorf("configuration: %+v", em.Store().Config)
	}
	em.Store().Unlock()
	if status, out := sendAdmin(t, "PUT", url+"/_fulcrum/limits", `{"name": "documented-2025", "factor": 2}`); status != 200 {
		t.Error(out)
	}
	if d := cmp.Diff(fault.DocumentedLimits2025(2), em.Faults().Limits()); d != "" {
		t.Errorf("limits (-want +got):\n%s", d)
	}
	if _, out := sendAdmin(t, "GET", url+"/_fulcrum/check", ""); out["ok"] != true {
		t.Error(out)
	}
	_, realURL, _ := startHTTPServer(t, emulator.Options{})
	if status, _ := sendAdmin(t, "POST", realURL+"/_fulcrum/clock", `{"advance": "90s"}`); status != 400 {
		t.Error("real time was moved")
	}
}

func TestAdminAccountsPermissionsAndIMDS(t *testing.T) {
	em, url, _ := startHTTPServer(t, emulator.Options{})
	body := `{"accessKeys": {"AKIALIMITED": "444455556666"}, "policies": {"AKIALIMITED": [
		{"Version": "2012-10-17", "Statement": [{"Sid": "Read", "Effect": "Allow", "Action": "ec2:DescribeVpcs", "Resource": "*"}]}]}}`
	if status, out := sendAdmin(t, "POST", url+"/_fulcrum/accounts", body); status != 200 {
		t.Fatal(out)
	}
	c := ec2.NewFromConfig(clientConfig(em, "AKIALIMITED"))
	vpcs, err := c.DescribeVpcs(t.Context(), nil)
	if err != nil || *vpcs.Vpcs[0].OwnerId != "444455556666" {
		t.Errorf("%+v, %v", vpcs, err)
	}
	if _, err := createVPC(t, c); code(err) != "UnauthorizedOperation" {
		t.Errorf("a call that no policy allows: %v", err)
	}
	_, out := sendAdmin(t, "GET", url+"/_fulcrum/permissions", "")
	allowed := []any{map[string]any{"Action": "ec2:DescribeVpcs", "Sid": "Read", "Count": 1.0}}
	if d := cmp.Diff(allowed, out["Allowed"]); d != "" {
		t.Errorf("allowed (-want +got):\n%s", d)
	}
	if denied, ok := out["Denied"].(map[string]any); !ok || len(denied) != 1 {
		t.Errorf("denied: %v", out["Denied"])
	}
	if status, out := sendAdmin(t, "PUT", url+"/_fulcrum/imds", `{"Disabled": true}`); status != 200 || out["Disabled"] != true {
		t.Errorf("%d %v", status, out)
	}
	if _, out := sendAdmin(t, "GET", url+"/_fulcrum/imds", ""); out["Disabled"] != true {
		t.Errorf("the change was not stored: %v", out)
	}
}
