// Package convert converts values between the types of the AWS SDK and the types of the packages model and observed. A
// desired value that is written to AWS and read again is equal to the desired value, so that a comparison finds no false
// differences. The package makes no calls and stores no state.
package convert
