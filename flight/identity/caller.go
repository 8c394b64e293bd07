package identity

import (
	"errors"
	"time"
)

// Caller is who calls. It is not modified.
type Caller struct {
	Name  string
	Kind  Kind
	Roles []string // that the caller brings along, beside those of its name
	// Expires is when what it showed ends; zero: never.
	Expires time.Time
}

// Kind is by what a caller is known.
type Kind string

// By what a caller is known.
const (
	ByToken       Kind = "token"
	ByPassword    Kind = "password"
	BySigned      Kind = "signed token"
	ByJWT         Kind = "JSON web token"
	ByCertificate Kind = "certificate"
)

// ErrUnauthenticated is all that a caller learns that cannot be told.
var ErrUnauthenticated = errors.New("not authenticated: credentials are missing, wrong or expired")

// refused is an [ErrUnauthenticated] with its reason.
type refused struct{ reason string }

func (r *refused) Error() string { return ErrUnauthenticated.Error() }

// Is tells that it is an [ErrUnauthenticated].
func (r *refused) Is(err error) bool { return err == ErrUnauthenticated }

func refuse(reason string) error { return &refused{reason} }

// Reason is why a caller was refused, for a log. It has nothing of what the caller showed but the names of users that there are.
func Reason(err error) string {
	var r *refused
	if errors.As(err, &r) {
		return r.reason
	}
	return err.Error()
}
