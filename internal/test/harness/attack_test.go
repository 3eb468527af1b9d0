package harness

import "time"

// settleFor is how long the controller runs after an attack, which may leave something that fails.
const settleFor = 30 * time.Minute
