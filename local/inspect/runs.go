package inspect

import (
	"regexp"
	"strconv"
)

// reconcileLine matches a line of the controller's metrics that contains a number of reconciles.
var reconcileLine = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total{[^}]*} (\d+)$`)

// ReconcileCount returns the number of reconciles that the controller has done since its start. metrics is the text of the
// controller's metrics.
func ReconcileCount(metrics string) (int, error) {
	n := 0
	for _, match := range reconcileLine.FindAllStringSubmatch(metrics, -1) {
		count, err := strconv.Atoi(match[1])
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}
