// Package cloud reads and changes AWS. In the controller, only this package and the packages below it use the AWS SDK.
// Callers do not see types of the SDK: observed resources have the types of package observed, and changes are steps of a
// plan. The package does not decide which resources should exist.
//
// Observed resources are cached in an inventory. Changes by the controller also update the inventory. Therefore a second
// observation within the refresh period makes no call. The inventory only saves calls, and can be emptied at any time
// without an effect on the results. No lock is held during a call to AWS.
package cloud
