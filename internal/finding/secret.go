package finding

import (
	"fmt"
	"strings"
)

// MissingSecretMessage returns the beginning of the message about a Secret that the controller could not read. The message
// is the same for a Secret that does not exist and for a Secret that the controller is not permitted to read. The message
// therefore does not reveal which Secrets exist.
func MissingSecretMessage(namespace, name string) string {
	return fmt.Sprintf("Secret %q does not exist, or the controller may not read it", namespace+"/"+name)
}

// MissingSecretFix returns the fix for a Secret that does not exist or that the controller is not permitted to read. account
// is the service account of the controller as "namespace:name"; "" if it is not known.
func MissingSecretFix(account, namespace, name string) string {
	where, unknown := account, ""
	if account == "" {
		where, unknown = "NAMESPACE:NAME", ", with the service account in the Deployment of the controller"
	}
	return fmt.Sprintf("create it, or allow the controller to read it: "+
		"kubectl create role -n %[1]s read-%[2]s --verb=get,list,watch --resource=secrets --resource-name=%[2]s && "+
		"kubectl create rolebinding -n %[1]s read-%[2]s --role=read-%[2]s --serviceaccount=%[3]s%[4]s", namespace, name, where, unknown)
}

// ServiceAccount returns the service account in a Kubernetes user name, as "namespace:name"; "" if the user is not a service
// account.
func ServiceAccount(user string) string {
	account, is := strings.CutPrefix(user, "system:serviceaccount:")
	if namespace, name, ok := strings.Cut(account, ":"); !is || !ok || namespace == "" || name == "" {
		return ""
	}
	return account
}
