package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMap(t *testing.T) {
	for raw, want := range map[string]map[string]string{
		"k1=v1, k2 = v2":   {"k1": "v1", "k2": "v2"},
		"a=b=c":            {"a": "b=c"},
		`h=x\,y,b=2`:       {"h": "x,y", "b": "2"},
		"a=":               {"a": ""},
		"":                 {},
		"a=1,":             {"a": "1,"},
		"a=1,a=2":          {"a": "2"},
		`a=1\`:             {"a": `1\`},
		`a=\\`:             {"a": `\`},
		" a = 1 , b = x y": {"a": "1", "b": "x y"},
		`k\=x=1`:           {"k": "x=1"},
		"  ":               nil,
		"a=1,b":            nil,
		"a=1,,b=2":         nil,
		"a=1,  ":           {"a": "1,"},
		`a=1,b\=2`:         {"a": "1", "b": "2"},
		"=1":               nil,
	} {
		t.Run(raw, func(t *testing.T) {
			got, err := ParseMap(raw)
			if (err != nil) != (want == nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestList(t *testing.T) {
	for raw, want := range map[string][]string{
		"":         {},
		" , ,":     {},
		"a, b ,,c": {"a", "b", "c"},
	} {
		got, err := ParseList(raw)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v -want +got:\n%s", raw, err, diff)
		}
	}
}

func TestScalarParsersAcceptOnlyValidText(t *testing.T) {
	for _, good := range []string{"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"} {
		if _, err := ParseBool(good); err != nil {
			t.Errorf("ParseBool(%q): %v", good, err)
		}
	}
	for _, bad := range []string{"", "yes", " true", "TrUe"} {
		if _, err := ParseBool(bad); err == nil {
			t.Errorf("ParseBool(%q) is accepted", bad)
		}
	}
	for raw, want := range map[string]int32{"0": 0, "-5": -5, "+7": 7, "2147483647": 2147483647} {
		if got, err := ParseInt(raw); err != nil || got != want {
			t.Errorf("ParseInt(%q) = %d, %v", raw, got, err)
		}
	}
	for _, bad := range []string{"", " 1", "1.0", "2147483648", "0x10", "1e3"} {
		if _, err := ParseInt(bad); err == nil {
			t.Errorf("ParseInt(%q) is accepted", bad)
		}
	}
	if got, err := ParseInt64("99999999999"); err != nil || got != 99999999999 {
		t.Errorf("ParseInt64 = %d, %v", got, err)
	}
}

func TestCIDRsAreCanonical(t *testing.T) {
	got, err := ParseCIDRs("10.0.0.5/24, ::1/64")
	if diff := cmp.Diff([]string{"10.0.0.0/24", "::/64"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{"10.0.0.0", "10.0.0.0/33", "x"} {
		if _, err := ParseCIDRs(bad); err == nil {
			t.Errorf("ParseCIDRs(%q) is accepted", bad)
		}
	}
}

// TestBlankCIDRValuesAreRefused checks that a list without any address range is an error. It would admit all clients.
func TestBlankCIDRValuesAreRefused(t *testing.T) {
	for _, bad := range [][]string{nil, {""}, {" "}, {"", ""}} {
		if got, err := ParseCIDRValues(bad); err == nil {
			t.Errorf("ParseCIDRValues(%q) = %q, want an error", bad, got)
		}
	}
	if got, err := ParseCIDRValues([]string{"10.0.0.5/24", ""}); err != nil || len(got) != 1 || got[0] != "10.0.0.0/24" {
		t.Errorf("%q %v", got, err)
	}
}

// FuzzParsers checks that no parser panics for any text.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{
		"", "a=b", `a=\,b,c=d`, `[{"HTTP":80}]`, `{"type":"forward","targetGroupARN":"x"}`, "10.0.0.0/8,::/0",
		`[{"field":"host-header","hostHeaderConfig":{"values":["a"]}}]`, `[{"port":1,"mode":"verify","trustStore":"x"}]`,
		`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"a","replace":"b"}]}}]`, `{"jwksEndpoint":"a","issuer":"b"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := ParseMap(raw)
		if _, empty := m[""]; err == nil && empty {
			t.Error("empty key")
		}
		_, _ = ParseList(raw)
		_, _ = ParseBool(raw)
		_, _ = ParseInt(raw)
		_, _ = ParseInt64(raw)
		_, _ = ParseCIDRs(raw)
		if ports, err := ParseListenPorts(raw); err == nil && len(ports) == 0 {
			t.Error("no ports and no error")
		}
		_, _ = ParseMutualAuth(raw)
		_, _ = parseAction(raw)
		_, _ = ParseConditions(raw)
		_, _ = ParseTransforms(raw)
		_, _ = ParseJWT(raw)
		_, _ = parseOIDC(raw)
		_, _ = parseCognito(raw)
		_, _ = parseCapacity(raw)
		_, _ = parseGroupOrder(raw)
	})
}
