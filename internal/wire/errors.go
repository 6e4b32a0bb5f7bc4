package wire

import "github.com/nextbatch/nextbatch/campaign"

// A worker and the service report the same errors in two shapes. A worker says of which kind an error is,
// so that Python can raise an exception of that kind; the service answers with a status of HTTP and a
// problem, as RFC 9457 describes it. Both list the rows that are wrong.

// Failure is the body of a worker's answer of kind "error".
type Failure struct {
	Error   string `json:"error"` // request, data, memory, device, cancelled, frame or fault
	Message string `json:"message"`
	// Rows are the wrong ones of a list that was rejected.
	Rows []campaign.Fault `json:"rows,omitempty"`
}

// Problem is an error of the service, of type application/problem+json.
type Problem struct {
	Title  string          `json:"title,omitempty"` // text of the status
	Status int             `json:"status,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Errors []ProblemDetail `json:"errors,omitempty"` // what is wrong with the request, part by part
}

// ProblemDetail is what is wrong with a part of a request.
type ProblemDetail struct {
	Message  string `json:"message,omitempty"`
	Location string `json:"location,omitempty"` // such as body.rows[3]
	Value    any    `json:"value,omitempty"`
}
