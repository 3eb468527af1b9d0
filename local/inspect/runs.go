package inspect

import (
	"regexp"
	"strconv"
)

// runLine is a line of the controller's metrics.
var runLine = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total{[^}]*} (\d+)$`)

// Runs counts the runs that a controller has made, by the text of its metrics.
func Runs(metrics string) (int, error) {
	n := 0
	for _, match := range runLine.FindAllStringSubmatch(metrics, -1) {
		count, err := strconv.Atoi(match[1])
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}
