package harness

import "time"

// settleFor is how long the controller runs after an attack, during which reconciliations may fail.
const settleFor = 30 * time.Minute
