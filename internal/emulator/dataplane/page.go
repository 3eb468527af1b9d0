package dataplane

import (
	"fmt"
	"net/http"
	"strconv"
)

// serverHeaderValue is the value of the Server header in responses of AWS's load balancers.
const serverHeaderValue = "awselb/2.0"

// statusTexts maps a status to its reason phrase in AWS's HTML pages, where it differs from the phrase of net/http.
var statusTexts = map[int]string{
	http.StatusServiceUnavailable: "Service Temporarily Unavailable",
	http.StatusGatewayTimeout:     "Gateway Time-out",
	http.StatusRequestTimeout:     "Request Time-out",
	http.StatusRequestURITooLong:  "Request-URI Too Large",
	463:                           "",
	464:                           "",
	561:                           "Unauthorized",
}

// statusPage returns the HTML page that a load balancer sends if the status does not come from a target.
func statusPage(status int) string {
	title := strconv.Itoa(status)
	text, ok := statusTexts[status]
	if !ok {
		text = http.StatusText(status)
	}
	if text != "" {
		title += " " + text
	}
	return fmt.Sprintf("<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n"+
		"<center><h1>%s</h1></center>\r\n</body>\r\n</html>\r\n", title, title)
}

// answer sends a response with a status and its HTML page. If the status is 500 or above, a gRPC client gets the gRPC status
// UNAVAILABLE instead of the page.
func (x *exchange) answer(status int) {
	h := x.w.Header()
	if x.isGRPC && status >= 500 {
		h.Set("Content-Type", "application/grpc")
		h.Set("Grpc-Status", "14")
		x.sendAnswer(status, "")
		return
	}
	h.Set("Content-Type", "text/html")
	x.sendAnswer(status, statusPage(status))
}

// sendAnswer sends a response that does not come from an HTTP target.
func (x *exchange) sendAnswer(status int, body string) {
	h := x.w.Header()
	if !x.route.listener.attr.hideServerHeader {
		h.Set("Server", serverHeaderValue)
	}
	x.addResponseHeaders(h)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write([]byte(body))
	}
}
