package targets

// Options are the operator's settings that the choice of endpoints depends on.
type Options struct {
	// FailOpen takes endpoints on nodes of unknown state where no others are left.
	FailOpen bool
}
