// Package cloud reads and changes AWS. In the controller, only this package and the packages below it use the AWS SDK.
// Callers do not see types of the SDK: observed resources have the types of package observed, and changes are steps of a
// plan. The package does not decide which resources should exist.
//
// Observed resources are cached in an inventory. Changes by the controller also update the inventory. Therefore a second
// observation within the refresh period makes no call. The inventory only saves calls and may be emptied at any time. No
// lock is held during a call.
package cloud
