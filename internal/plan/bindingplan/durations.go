package bindingplan

import "time"

// All durations of plans and reports. One that has the same meaning in two places is one constant.
const (
	// LongestBackOff is for what AWS refused and only a change of input corrects.
	LongestBackOff = 5 * time.Minute
	// HealthAge is how old a list of targets may be that changes are made from. Our own writes are always in it.
	HealthAge = 5 * time.Minute
	// freshAge is how old what AWS says may be where something follows from it at once, as the runs of one moment share it.
	freshAge = time.Second
	// nodeGroupsFor is how long the security groups of nodes that do not change are taken from memory.
	nodeGroupsFor = time.Minute

	// AbsenceDelay is how long a backend is missing before that is believed.
	AbsenceDelay = 5 * time.Second
	// replacedWithin is for how long the targets of a Service that is gone stay, if the stack of the binding is to stay:
	// longer than the targets of another Service usually take to become healthy.
	replacedWithin = 5 * time.Minute
	// comeback is for how long nothing is taken away after a binding has disappeared without letting go, and how often it is
	// looked then whether its group is still in use: it is made again in a moment, or later, if its definition has to come
	// back first.
	comeback = time.Minute
	// lacking is when a target group that does not exist is looked for again, for the time lackingFor; from then on that is
	// done at the longest back-off.
	lacking    = time.Minute
	lackingFor = time.Hour

	// followsPod is how long after a change of a pod it is normal that EndpointSlices, or AWS with its ENI, do not show it:
	// slices follow pods, and the change may be newer than the answer of AWS that is kept.
	followsPod = 30 * time.Second
	// unseenAgain is when an ENI that AWS does not show is looked for again.
	unseenAgain = 3 * time.Second

	// healthSoon is how soon health is looked at again while old targets serve on, or a gate has changed within pollSoonFor:
	// targets become healthy within some seconds, or not soon. For the time pollFor it is done at healthLater.
	healthSoon  = 2 * time.Second
	pollSoonFor = 20 * time.Second
	healthLater = 5 * time.Second
	pollFor     = time.Minute
	// unservedAfter is how long AWS says of targets that they are not in use before it is asked whether anything forwards to
	// the target group. A listener or rule usually follows its target group within seconds.
	unservedAfter = 2 * time.Minute
)
