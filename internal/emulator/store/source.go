package store

// Source is the origin of the code and the message of an error. The generated page docs/emulator-operations.md lists the
// errors without evidence. Its generator reads the Go files; therefore each call of Errorf must have its source as a literal
// argument.
type Source struct {
	// Kind is one of the constants below.
	Kind string
	// Ref is the page, the shape of the service model, or the public report that proves the error. It is empty for other
	// kinds.
	Ref string
}

// Kinds of sources.
const (
	kindDocument  = "AWS document"
	kindModel     = "service model"
	kindQuotation = "quotation"
	kindUnproven  = "unproven"
	kindOwn       = "emulator"
)

var (
	// UnprovenSource is the source of an error without evidence that AWS returns it.
	UnprovenSource = Source{Kind: kindUnproven}
	// EmulatorSource is the source of an error that only the emulator returns.
	EmulatorSource = Source{Kind: kindOwn}
)

// DocumentSource returns the source of an error that a page of the AWS documentation describes.
func DocumentSource(ref string) Source { return Source{kindDocument, ref} }

// ModelSource returns the source of an error that the service model of AWS declares.
func ModelSource(ref string) Source { return Source{kindModel, ref} }

// ReportSource returns the source of an error that a public report quotes from AWS, such as "kasmtech/terraform#5".
func ReportSource(ref string) Source { return Source{kindQuotation, ref} }
