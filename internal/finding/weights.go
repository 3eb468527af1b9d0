package finding

// AllZero returns the finding about a forward of which no backend has a weight above 0. The text what names what
// happens to the requests that it would serve.
func AllZero(at Origin, what string) Finding {
	return Finding{
		Object: at.Object, Field: at.Field, Reason: AllWeightsZero, Severity: Warning,
		Message: "all weights are 0; " + what, Fix: "give a backend a weight above 0",
	}
}
