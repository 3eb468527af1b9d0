package harness

import "time"

// attackSettleTime is how long the controller runs after an attack. Reconciliations may fail meanwhile.
const attackSettleTime = 30 * time.Minute
