package bindings

import "time"

// All durations of runs over bindings, besides those of plans (internal/plan/bindingplan/durations.go).
const (
	// defaultRequeue and defaultFirstLook are for a Config that leaves these open.
	defaultRequeue   = 15 * time.Second
	defaultFirstLook = 30 * time.Minute

	// describedAge is how old the description of a target group may be. What is read of it does not change while it is there,
	// but another may be made with its name.
	describedAge = 20 * time.Minute
	// fixedAge is how old it may be where the ARN is known: no two target groups have the same.
	fixedAge = time.Hour
	// zonesFor is how long it is remembered that AWS wants the zones of a binding's targets.
	zonesFor = time.Hour
	// writesShown is how long AWS may take to show a change of targets.
	writesShown = time.Minute

	// registerWithin is how long the registration of targets may wait for its turn.
	registerWithin = time.Second
	// endedWithin is likewise for taking targets out whose pods have ended: less than the half minute after which a VPC gives
	// an address to another pod.
	endedWithin = 25 * time.Second
	// runningWithin is for targets whose pods are there. When one of them ends it has endedWithin from then on.
	runningWithin = 45 * time.Second
	// firstRefusal is for how long a target that AWS refuses is not sent again, whatever else changes. It doubles with each
	// refusal, up to bindingplan.LongestBackOff.
	firstRefusal = 15 * time.Second

	// arrivesAgain is when it is looked again for a Service that has not arrived.
	arrivesAgain = time.Second
	// longestWait is how long a binding that leaves waits for the Service of another that may take its targets over. Then the
	// Service does not exist.
	longestWait = 30 * time.Second
	// waitsAgain is after what time it may wait once more.
	waitsAgain = 5 * time.Minute
)
