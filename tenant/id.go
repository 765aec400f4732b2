package tenant

import "errors"

// AnonymousID is the ID of the one tenant that all requests without a credential share where a service lets them in.
// No credential can name it: an ID from outside never begins with an underscore.
const AnonymousID = "_anonymous"

// maxNameLen bounds tenant IDs and tier names, in bytes.
const maxNameLen = 128

// ErrInvalidID says that a text is no tenant ID. Its text is fixed and does not repeat the ID.
var ErrInvalidID = errors.New("tenant: invalid tenant ID")

// ValidID reports whether id may name a tenant: 1 to 128 bytes, [A-Za-z0-9][A-Za-z0-9._-]*.
// It is what a resolver holds an ID from outside against.
func ValidID(id string) bool { return validName(id) }

// CheckID returns [ErrInvalidID] unless id is valid or [AnonymousID]. It is what limiters and pools hold an ID against.
func CheckID(id string) error {
	if !validName(id) && id != AnonymousID {
		return ErrInvalidID
	}
	return nil
}

func validName(s string) bool {
	if len(s) == 0 || len(s) > maxNameLen {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}
