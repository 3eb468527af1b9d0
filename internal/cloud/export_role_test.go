package cloud

// SessionName is opened to tests.
var SessionName = sessionName
