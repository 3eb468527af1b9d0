package finding

// NewAllWeightsZeroFinding returns the finding about a forward action whose backends all have weight 0. consequence
// describes what happens to requests for this action.
func NewAllWeightsZeroFinding(at Origin, consequence string) Finding {
	return Finding{
		Object: at.Object, Field: at.Field, Reason: AllWeightsZero, Severity: Warning,
		Message: "all weights are 0; " + consequence, Fix: "give a backend a weight above 0",
	}
}
