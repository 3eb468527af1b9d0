package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// tlsSecret is a Secret with the labels, annotations and keys of the Secrets in which cert-manager stores certificates. Unlike
// in those, tls.crt also contains the root CA.
const tlsSecret = `
apiVersion: v1
kind: Secret
metadata:
  namespace: %[1]s
  name: %[2]s
  labels: {controller.cert-manager.io/fao: "true"}
  annotations:
    cert-manager.io/alt-names: %[3]s
    cert-manager.io/certificate-name: %[2]s
    cert-manager.io/common-name: ""
    cert-manager.io/ip-sans: ""
    cert-manager.io/issuer-group: cert-manager.io
    cert-manager.io/issuer-kind: ClusterIssuer
    cert-manager.io/issuer-name: world
    cert-manager.io/uri-sans: ""
type: kubernetes.io/tls
data: {ca.crt: %[4]s, tls.crt: %[5]s, tls.key: %[6]s}
`

// cmdTLSSecret creates a TLS Secret with a new certificate, or replaces the certificate in an existing Secret.
func cmdTLSSecret(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: tls-secret NS/NAME HOST...")
	}
	namespace, name := splitReference(ts, args[0])
	s := scriptClusterOf(ts)
	certificate, key, err := s.World.IssueCertificate(args[1:]...)
	ts.Check(err)
	ca, err := os.ReadFile(s.World.CAFile())
	ts.Check(err)
	text := base64.StdEncoding.EncodeToString
	checkOutcome(ts, neg, s.apply(fmt.Appendf(nil, tlsSecret, namespace, name, strings.Join(args[1:], ","), text(ca), text(certificate), text(key))))
}
