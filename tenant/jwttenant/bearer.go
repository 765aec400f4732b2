package jwttenant

import (
	"net/http"
	"strings"
)

// credential returns the token of req: that of its Authorization header, else that of the cookie, where one is
// configured. It is at most maxBytes long and not empty; nothing else of it has been looked at.
func (r *Resolver) credential(req *http.Request) (string, error) {
	token, err := bearer(req)
	if err == errNoCredential && r.cookie != "" {
		token, err = cookie(req, r.cookie)
	}
	if err == nil && len(token) > r.maxBytes {
		return "", errTooLong
	}
	return token, err
}

// bearer returns what follows the scheme in req's Authorization header (RFC 6750, 2.1).
func bearer(req *http.Request) (string, error) {
	headers := req.Header["Authorization"]
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
	case req.URL != nil && strings.Contains(req.URL.RawQuery, "access_token") && req.URL.Query().Has("access_token"):
		return "", errTwoTransports
	}
	return token, nil
}

// cookie returns the value of req's cookie of that name. It looks itself, because package http passes over cookies that it
// finds malformed, and a bad credential is not none. Of several any could be the one that another site under the same
// domain has set.
func cookie(req *http.Request, name string) (string, error) {
	const space = " \t\r\n"
	var token string
	found := 0
	for _, header := range req.Header["Cookie"] {
		for pair := range strings.SplitSeq(header, ";") {
			if n, value, _ := strings.Cut(pair, "="); strings.Trim(n, space) == name {
				token = strings.Trim(value, space)
				found++
			}
		}
	}
	switch {
	case found > 1:
		return "", errTwoCookies
	case token == "": // as one is that a browser was told to forget
		return "", errNoCredential
	}
	return token, nil
}

// isTokenChar reports whether c may stand in the name of a scheme (RFC 9110, 5.6.2). Package tenant, which reads API keys
// in the same way, has it too.
func isTokenChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
