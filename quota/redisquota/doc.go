// Package redisquota is a [quota.Store] in Redis: replicas that use the same one share their limits.
package redisquota
