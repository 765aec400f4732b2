package redisquota

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// The parts of the script: what a request says, accounts, what is done to them in general, and what is done mostly.
var (
	//go:embed script/1-request.lua
	requestLua string
	//go:embed script/2-accounts.lua
	accountsLua string
	//go:embed script/3-general.lua
	generalLua string
	//go:embed script/4-plain.lua
	plainLua string
)

// script is what decides, in the server; digest is the name under which the server keeps it.
var script, digest = func() (string, string) {
	s := requestLua + accountsLua + generalLua + plainLua
	sum := sha1.Sum([]byte(s))
	return s, hex.EncodeToString(sum[:])
}()

// command is a call of the script. The client must not send it twice: it may have been carried out although no reply
// came.
type command struct{ *redis.StringCmd }

// NoRetry tells the client so.
func (command) NoRetry() bool { return true }

// Clone keeps that.
func (c command) Clone() redis.Cmder {
	return command{c.StringCmd.Clone().(*redis.StringCmd)}
}

// newCommand returns the call of the script for a request.
func newCommand(ctx context.Context, r *request) command {
	body := r.args() // may add a key
	args := make([]any, 0, 4+len(r.keys))
	args = append(args, "evalsha", digest, len(r.keys))
	for _, key := range r.keys {
		args = append(args, key)
	}
	return commandOf(ctx, append(args, body))
}

// whole returns the same call with the text of the script, for a server that does not have it.
func (c command) whole(ctx context.Context) command {
	args := slices.Clone(c.Args())
	args[0], args[1] = "eval", script
	return commandOf(ctx, args)
}

func commandOf(ctx context.Context, args []any) command {
	c := command{redis.NewStringCmd(ctx, args...)}
	c.SetFirstKeyPos(3)
	return c
}

// notDone reports whether an error of a command says for certain that nothing was done: the server said so, or it was
// never reached.
func notDone(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrClosed)
}
