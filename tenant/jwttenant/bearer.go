package jwttenant

import (
	"net/http"
	"strings"
)

// bearer returns the token of r's Authorization header (RFC 6750, 2.1), at most maxBytes long and not empty. Of what is
// in it only that it is one token has been looked at.
func bearer(r *http.Request, maxBytes int) (string, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return "", errTwoHeaders
	}
	if len(headers) == 0 {
		return "", errNoCredential
	}
	const scheme = "Bearer"
	header := strings.Trim(headers[0], " \t")
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", errNoCredential
	}
	rest := header[len(scheme):]
	if rest != "" && isTokenChar(rest[0]) {
		return "", errNoCredential // a scheme whose name merely begins like ours
	}
	token := strings.TrimLeft(rest, " ")
	switch {
	case token == "" || token == rest: // nothing after the scheme, or something else than a space
		return "", errNotOneToken
	case len(token) > maxBytes:
		return "", errTooLong
	case strings.ContainsAny(token, " \t,"):
		return "", errNotOneToken
	case r.URL != nil && strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token"):
		return "", errTwoTransports
	}
	return token, nil
}

// isTokenChar reports whether c may stand in the name of a scheme (RFC 9110, 5.6.2).
func isTokenChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
