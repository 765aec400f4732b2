// Package arch has no code: its test holds every package of the module to the imports that it may have, so that who
// takes one part of tenantgate takes no more than that, and so that a change of direction is a decision.
package arch
