package jwttenant

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep arrays and objects may nest.
const maxDepth = 32

// scanner reads JSON in one pass.
type scanner struct {
	text string
	pos  int
	// members are those of the objects that are open, outermost first. Those of an inner one are dropped when it ends.
	members []member
}

func (s *scanner) value(depth int) error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		return s.string()
	case c == '-' || isDigit(c):
		return s.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.pos:], word) {
			s.pos += len(word)
			return nil
		}
	}
	return errJSON
}

func (s *scanner) object(depth int) error {
	if depth >= maxDepth {
		return errTooDeep
	}
	s.pos++ // {
	names := nameSet{first: len(s.members)}
	for s.space(); !s.take('}'); s.space() {
		if len(s.members) > names.first && !s.takeAndSpace(',') {
			return errJSON
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		if !names.add(s.members, name) {
			return errDuplicate
		}
		at, start := len(s.members), s.pos
		s.members = append(s.members, member{name: name})
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.members[at].value = s.text[start:s.pos]
	}
	if depth > 0 {
		s.members = s.members[:names.first]
	}
	return nil
}

// name reads a member's name, the colon and the space around it.
func (s *scanner) name() (string, error) {
	start := s.pos
	if s.peek() != '"' {
		return "", errJSON
	}
	if err := s.string(); err != nil {
		return "", err
	}
	name, _ := text(s.text[start:s.pos])
	s.space()
	if !s.takeAndSpace(':') {
		return "", errJSON
	}
	return name, nil
}

func (s *scanner) array(depth int) error {
	if depth >= maxDepth {
		return errTooDeep
	}
	s.pos++ // [
	empty := true
	for s.space(); !s.take(']'); s.space() {
		if !empty && !s.takeAndSpace(',') {
			return errJSON
		}
		empty = false
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) string() error {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c < ' ':
			return errJSON
		case c == '\\':
			n := escapeLen(s.text[i:])
			if n == 0 {
				return errJSON
			}
			i += n - 1
		}
	}
	return errJSON
}

// escapeLen returns the length of the escape that text begins with, 0 where it is none. The two halves of a surrogate
// pair are one escape: half a pair is no character, and readers replace it by one that another name may have too.
func escapeLen(text string) int {
	if len(text) >= 2 && strings.IndexByte(`"\/bfnrt`, text[1]) >= 0 {
		return 2
	}
	r, ok := escapedRune(text)
	if !ok {
		return 0
	}
	if !utf16.IsSurrogate(r) {
		return 6
	}
	low, ok := escapedRune(text[6:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0
	}
	return 12
}

func escapedRune(text string) (rune, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}

// number reads a number as JSON has it, but none that would take a reader long, or that not all read alike: of more than
// maxNumber bytes, beyond the range of a float64, or with an exponent below -99. To read 1e-323 takes 20 us, which over a
// whole token is more than to verify it.
func (s *scanner) number() error {
	const maxNumber = 64
	start := s.pos
	s.take('-')
	whole := s.pos
	ok := s.take('0') || s.digits()
	whole = s.pos - whole // at most one of them for nothing
	if s.take('.') {
		ok = s.digits() && ok
	}
	positive, exponent := true, ""
	if s.take('e') || s.take('E') {
		positive = s.take('+') || !s.take('-')
		from := s.pos
		ok = s.digits() && ok
		exponent = strings.TrimLeft(s.text[from:s.pos], "0")
	}
	switch {
	case !ok:
		return errJSON
	case s.pos-start > maxNumber, !positive && len(exponent) > 2, len(exponent) > 3:
		return errNumber
	}
	if exponent == "" || !positive {
		return nil
	}
	if n, _ := strconv.Atoi(exponent); whole+n > 308 { // else it is less than 1e308
		if _, err := strconv.ParseFloat(s.text[start:s.pos], 64); err != nil {
			return errNumber
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for isDigit(s.peek()) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// peek returns the next byte; 0, which no JSON begins with, at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) takeAndSpace(c byte) bool {
	ok := s.take(c)
	s.space()
	return ok
}

func (s *scanner) space() {
	for c := s.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = s.peek() {
		s.pos++
	}
}

// nameSet holds the names of one object, to find one that comes twice: by looking at all while they are few, which they
// are in all but hostile tokens, else in a map, so that the work grows with the names and not with their square.
type nameSet struct {
	first int // the object's first member among the scanner's
	byMap map[string]struct{}
}

// add reports whether name is new. members are the scanner's, name not yet among them.
func (n *nameSet) add(members []member, name string) bool {
	const few = 16
	own := members[n.first:]
	if len(own) < few {
		for _, m := range own {
			if m.name == name {
				return false
			}
		}
		return true
	}
	if n.byMap == nil {
		n.byMap = make(map[string]struct{}, 4*few)
		for _, m := range own {
			n.byMap[m.name] = struct{}{}
		}
	}
	before := len(n.byMap)
	n.byMap[name] = struct{}{}
	return len(n.byMap) > before
}
