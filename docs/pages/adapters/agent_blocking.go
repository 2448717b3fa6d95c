// An agent around a library whose calls block: replace `library` by calls of yours.
//
//	go build agent_blocking.go && zconform smoke 'exec:./agent_blocking {locator}?role=client&agent=stdio'
//
// `start` and `capability` are answered at once, since they need no session. A goroutine opens the session, and runs the commands in
// order. A command that comes before the session can be used is refused with `not_ready`; the event `ready` tells the harness to ask
// again. Say `why` whenever something fails: it becomes part of the cause in the report.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

type line struct {
	Seq                         int
	Cmd, Name, ID, Key, Payload string
	Plan                        []struct{ Reply, Key *string }
}
type fields map[string]any

var (
	commands = []string{"declare_subscriber", "declare_queryable", "undeclare", "put", "get"}
	writing  sync.Mutex
	ready    atomic.Bool
)

// say writes one line; events and answers come from two goroutines.
func say(what fields) {
	text, _ := json.Marshal(what)
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(text))
}

// library is a substitute for a real one, which has only its own data; each method may block.
type library struct{ entities []line }

// open returns when the session can be used.
func (l *library) open(locator string) error {
	_, address, _ := strings.Cut(locator, "/")
	link, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	_, err = link.Read(make([]byte, 1))
	return err
}

func (l *library) undeclare(one line) error {
	at := slices.IndexFunc(l.entities, func(other line) bool { return other.ID == one.ID })
	if at < 0 {
		return errors.New("nothing is declared under this id")
	}
	l.entities = slices.Delete(l.entities, at, at+1)
	return nil
}

func (l *library) put(one line) {
	for _, to := range l.entities {
		if to.Cmd == "declare_subscriber" && to.Key == one.Key {
			say(fields{"event": "sample", "id": to.ID, "key": one.Key, "kind": "put", "payload": one.Payload})
		}
	}
}

func (l *library) get(one line) {
	for _, to := range l.entities {
		if to.Cmd != "declare_queryable" || to.Key != one.Key {
			continue
		}
		say(fields{"event": "query", "id": to.ID, "key": one.Key, "parameters": ""})
		for _, each := range to.Plan {
			key := one.Key // on the key of the step, or else on the query's own key
			if each.Key != nil {
				key = *each.Key
			}
			if each.Reply != nil {
				say(fields{"event": "reply", "id": one.ID, "key": key, "kind": "put", "payload": *each.Reply})
			}
		}
	}
	say(fields{"event": "end", "id": one.ID})
}

// run does one command; the error says why it failed.
func (l *library) run(one line) (err error) {
	switch one.Cmd {
	case "put":
		l.put(one)
	case "get":
		l.get(one)
	case "undeclare":
		err = l.undeclare(one)
	default:
		l.entities = append(l.entities, one)
	}
	return err
}

// work opens the session, then runs the commands one after the other.
func work(waiting <-chan line) {
	var session library
	if why := session.open(os.Args[1]); why != nil {
		fmt.Fprintln(os.Stderr, "no session:", why)
		return
	}
	ready.Store(true)
	say(fields{"event": "ready"})
	for one := range waiting {
		answer := fields{"seq": one.Seq, "ok": true}
		if why := session.run(one); why != nil {
			answer = fields{"seq": one.Seq, "ok": false, "why": why.Error()}
		}
		say(answer)
	}
}

// main answers what needs no session, and hands the rest over.
func main() {
	waiting := make(chan line, 64)
	go work(waiting)
	var one line
	for in := bufio.NewScanner(os.Stdin); one.Cmd != "close" && in.Scan(); {
		one = line{}
		_ = json.Unmarshal(in.Bytes(), &one)
		switch known := slices.Contains(commands, one.Cmd); {
		case one.Cmd == "start":
			identity := fields{"name": "mylibrary", "version": "1", "language": "Go"}
			say(fields{"seq": one.Seq, "ok": true, "identity": identity, "zid": nil, "capabilities": commands})
		case one.Cmd == "close", one.Cmd == "capability" && slices.Contains(commands, one.Name):
			say(fields{"seq": one.Seq, "ok": true})
		case !known:
			say(fields{"seq": one.Seq, "ok": false, "unimplemented": true})
		case !ready.Load():
			say(fields{"seq": one.Seq, "ok": false, "why": "the session is not open yet", "not_ready": true})
		default:
			waiting <- one
		}
	}
}
