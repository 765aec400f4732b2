package jwttenant

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// object is a JSON object as it was written: its members in their order, each value still as JSON text. All values are
// well-formed, those inside of other values too.
type object []member

type member struct{ name, value string }

// parseObject reads text, which must be one JSON object and nothing else.
//
// It accepts less than RFC 8259 allows, where readers are known to disagree about what a text means (RFC 8259, 4 and
// 8): no name twice in one object, at any depth, whichever way it is written; valid UTF-8; no escape of half a
// surrogate pair. What it accepts encoding/json reads the same way, so that a handler which decodes the claims sees
// the ones that were checked.
func parseObject(text string) (object, error) {
	if !utf8.ValidString(text) {
		return nil, errJSON
	}
	s := scanner{text: text, members: make([]member, 0, 16)}
	s.space()
	if s.peek() != '{' {
		return nil, errJSON
	}
	if err := s.object(0); err != nil {
		return nil, err
	}
	s.space()
	if s.pos != len(text) {
		return nil, errJSON
	}
	return s.members, nil
}

// at returns the value at path, "" where there is none.
func (o object) at(path ...string) string {
	for _, m := range o {
		switch {
		case m.name != path[0]:
		case len(path) == 1:
			return m.value
		default:
			inner, err := parseObject(m.value)
			if err != nil {
				return "" // not an object
			}
			return inner.at(path[1:]...)
		}
	}
	return ""
}

// text returns what value says if it is a string.
func text(value string) (string, bool) {
	if value == "" || value[0] != '"' {
		return "", false
	}
	if strings.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	var s string
	err := json.Unmarshal([]byte(value), &s)
	return s, err == nil
}

// elements returns the values in value if it is an array.
func elements(value string) []string {
	if value == "" || value[0] != '[' {
		return nil
	}
	var list []string
	s := scanner{text: value, pos: 1}
	for s.space(); !s.take(']'); s.space() {
		start := s.pos
		if s.value(0) != nil {
			return nil
		}
		list = append(list, value[start:s.pos])
		s.space()
		s.take(',')
	}
	return list
}
