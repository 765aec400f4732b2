package tenant

import "strings"

// credential returns the one key that values, those of the header, have. It may be a key by its looks: nothing is
// hashed that is not, however long.
func (k *APIKeys) credential(values []string) (string, error) {
	if len(values) == 0 {
		return "", ErrNoCredential
	}
	if len(values) > 1 {
		return "", errNotOneKey
	}
	key := strings.Trim(values[0], " \t")
	if k.scheme != "" {
		var err error
		if key, err = k.afterScheme(key); err != nil {
			return "", err
		}
	}
	switch {
	case len(key) > maxKeyLen:
		return "", errAPIKey
	case strings.ContainsAny(key, " \t,"): // a proxy may join two headers by a comma
		return "", errNotOneKey
	case !isKey(key), !strings.HasPrefix(key, k.prefix):
		return "", errAPIKey
	}
	return key, nil
}

// afterScheme returns what follows the scheme in an Authorization header.
func (k *APIKeys) afterScheme(header string) (string, error) {
	n := len(k.scheme)
	if len(header) < n || !strings.EqualFold(header[:n], k.scheme) {
		return "", ErrNoCredential
	}
	rest := header[n:]
	if rest != "" && isTokenChar(rest[0]) {
		return "", ErrNoCredential // a scheme whose name merely begins like ours
	}
	key := strings.TrimLeft(rest, " ")
	switch {
	case key == "" || key == rest: // nothing after the scheme, or something else than a space
		return "", errNotOneKey
	case k.shared && !strings.HasPrefix(key, k.prefix):
		return "", ErrNoCredential
	}
	return key, nil
}

// isKey reports whether s is not empty, and printable ASCII without spaces and commas.
func isKey(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ',' {
			return false
		}
	}
	return s != ""
}

// isToken reports whether s is a token, the form of the names of headers and schemes (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenChar(s[i]) {
			return false
		}
	}
	return s != ""
}

// isTokenChar is as in package jwttenant, which reads the header in the same way.
func isTokenChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
