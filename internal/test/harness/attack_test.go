package harness

import "time"

// settleFor is how long the controller runs after an attack. Reconciliations may fail meanwhile.
const settleFor = 30 * time.Minute
