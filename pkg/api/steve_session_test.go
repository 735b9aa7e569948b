package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countd/countd/pkg/counts"
)

// The tests here are named for the rules of the protocol's steve section, which
// say what Rancher's dashboard was seen to do.

const askCount = `{"resourceType":"count"}`

// steveFrame is a message as the dashboard takes it apart.
type steveFrame struct {
	Name string
	Data struct {
		Error  string
		Counts map[string]json.RawMessage
	}
}

// frames reads messages as the dashboard does, and holds what must be true of
// each (rules 3 and 5): there is a data object, and no entry without a summary.
func frames(t *testing.T, messages []string) (list []steveFrame) {
	t.Helper()
	for _, m := range messages {
		var raw map[string]json.RawMessage
		must(t, json.Unmarshal([]byte(m), &raw))
		if !strings.HasPrefix(string(raw["data"]), "{") {
			t.Errorf("no data object in %s", m)
		}
		var f steveFrame
		must(t, json.Unmarshal([]byte(m), &f))
		for id, item := range f.Data.Counts {
			if !strings.HasPrefix(string(item), `{"summary":{`) {
				t.Errorf("%s has no summary in %s", id, m)
			}
		}
		list = append(list, f)
	}
	return list
}

func names(t *testing.T, messages []string) (list []string) {
	t.Helper()
	for _, f := range frames(t, messages) {
		list = append(list, f.Name)
	}
	return list
}

// inBubble runs a test of a subscription to a settled server that counts pods.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture, p *source), change ...func(*Options)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, change...)
		test(t, f, f.source(pods))
	})
}

func TestSteveRule1WholeChangeAfterEachStart(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		for i := range 3 {
			p.put("a", fmt.Sprint(i))
		}
		_, before := f.get("/v1/counts")
		for i := range 6 { // between the client's GET and its watch
			p.put("a", fmt.Sprint("later", i))
		}
		s := f.dial("/v1/subscribe?sockId=1")
		heard := s.listen()
		s.say(askCount)
		whole := `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":9},"namespaces":{"a":{"count":9}}}}}}`
		same(t, "first", heard.take(), `{"name":"resource.start","resourceType":"count","data":{}}`, whole)
		if !strings.Contains(before, `"count":3`) {
			t.Errorf("the client's GET gave %s", before)
		}
		s.say(`{"resourceType":"count","stop":true}`)
		s.say(askCount)
		same(t, "again", heard.take(),
			`{"name":"resource.stop","resourceType":"count","data":{}}`,
			`{"name":"resource.start","resourceType":"count","data":{}}`, whole)
	})
}

// TestSteveRule2KindsThatChangedAsAWhole is C4 and C6 too.
func TestSteveRule2KindsThatChangedAsAWhole(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		d := f.source(deployments)
		p.put("a", "x")
		p.put("b", "x")
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		heard.take()
		p.put("b", "y", counts.State{Word: "failed", Error: true})
		pass(500 * time.Millisecond)
		same(t, "pods", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":3,"states":{"error":1},"errors":1},"namespaces":{"a":{"count":1},"b":{"count":2,"states":{"error":1},"errors":1}}}}}}`)
		p.remove("a", "x")
		pass(500 * time.Millisecond)
		same(t, "a is empty", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":2,"states":{"error":1},"errors":1},"namespaces":{"b":{"count":2,"states":{"error":1},"errors":1}}}}}}`)
		d.put("a", "d")
		pass(500 * time.Millisecond)
		same(t, "up", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"apps.deployment":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}}}}`)
		d.remove("a", "d")
		pass(500 * time.Millisecond)
		same(t, "down", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"apps.deployment":{"summary":{},"namespaces":{}}}}}`)
	})
}

// TestSteveRule10WorkerIsToldAllKindsEachTime: the dashboard's worker takes in only
// the last of the changes of five seconds. A page's socket beside it is told what
// changed.
func TestSteveRule10WorkerIsToldAllKindsEachTime(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		p.put("a", "x")
		subscribe := func(sockID string) *transcript {
			s := f.dial("/v1/subscribe?sockId=" + sockID)
			heard := s.listen()
			s.say(askCount)
			heard.take()
			return heard
		}
		page, worker := subscribe("2"), subscribe("1796648210020")
		f.source(deployments).put("a", "d")
		pass(time.Second)
		deployment := `"apps.deployment":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}`
		pod := `"pod":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}`
		message := `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{%s}}}`
		last := func(got []string) []string { return got[len(got)-1:] }
		same(t, "page", last(page.take()), fmt.Sprintf(message, deployment))
		same(t, "worker", last(worker.take()), fmt.Sprintf(message, deployment+","+pod))
	})
}

// TestSteveRule3KindThatIsGoneIsToldOnce is C9 too.
func TestSteveRule3KindThatIsGoneIsToldOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		heard.take()
		w := f.source(widgets) // installed with the subscription open
		for i := range 3 {
			w.put("a", fmt.Sprint(i))
		}
		pass(time.Second)
		came := heard.take()
		if last := came[len(came)-1]; !strings.Contains(last, `"example.com.widget":{"summary":{"count":3},"namespaces":{"a":{"count":3}}}`) {
			t.Errorf("last change is %s", last)
		}
		w.close()
		pass(time.Second)
		same(t, "gone", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"example.com.widget":{"summary":{},"namespaces":{}}}}}`)
		p.put("a", "x")
		pass(time.Second)
		same(t, "after", heard.take(), `{"name":"resource.change","resourceType":"count","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}}}}`)
	})
}

// TestSteveRule4TooOld: a client that was stuck for so long that removals were
// forgotten is told to start over, and the start comes ten seconds later
// (rule 11) although the client asks at once.
func TestSteveRule4TooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{Remember: 1}, func(o *Options) { o.WriteTimeout = time.Hour; o.PeerTimeout = 2 * time.Hour })
		f.settle()
		p := f.source(pods)
		s := f.dial("/v1/subscribe")
		s.say(askCount)
		s.hear()
		s.hear()
		p.put("a", "x")
		pass(time.Second) // the stream is stuck in a write: a pipe holds nothing
		for i := range 5 {
			p.put(fmt.Sprint("gone", i), "x")
			p.remove(fmt.Sprint("gone", i), "x")
		}
		heard := s.listen()
		got := heard.take()
		same(t, "names", names(t, got), resourceChange, resourceError, resourceStop)
		if text := frames(t, got)[1].Data.Error; !strings.Contains(text, "too old") {
			t.Errorf("error is %q", text)
		}
		s.say(askCount)
		same(t, "again", names(t, heard.take()), resourceStart, resourceChange)
	})
}

// TestSteveSecondErrorInARowHasToWait: ended once, a subscription stands again at
// once; ended twice within ten seconds, it waits for them to pass.
func TestSteveSecondErrorInARowHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		socket, sent := recorded(f.server)
		session := f.server.newSteveSession(socket)
		hear := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			same(t, what, names(t, sent.messages(t)), want...)
		}
		ask := func(what string, want ...string) {
			t.Helper()
			must(t, session.hear(t.Context(), []byte(askCount)))
			hear(what, want...)
		}
		fail := func() {
			t.Helper()
			for _, sub := range session.subscriptions {
				session.fail(sub, "too-old", "too old")
			}
			hear("failure", resourceError, resourceStop)
		}
		ask("first", resourceStart, resourceChange)
		fail()
		ask("second", resourceStart, resourceChange)
		fail()
		ask("third")
		pass(steveCooling)
		hear("after ten seconds", resourceStart, resourceChange)
		session.close()
		f.server.views.running.Wait()
	})
}

// TestSteveKindThatAnotherResourceServesIsNotGone: a resource takes the place of
// another of the same kind. When the first goes, the kind does not.
func TestSteveKindThatAnotherResourceServesIsNotGone(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, _ *source) {
		old := f.source(widgets)
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		heard.take()
		successor := widgets
		successor.Name = "awidgets" // before the old one, in the order of their keys
		w := f.source(successor)
		w.put("a", "x")
		old.close()
		pass(time.Second)
		came := heard.take()
		if last := came[len(came)-1]; !strings.Contains(last, `"example.com.widget":{"summary":{"count":1}`) {
			t.Errorf("last change is %s", last)
		}
	})
}

// TestSteveFirstChangeNamesKindsThatAreGone: a dashboard that was away while a kind
// went still shows it, and never forgets one by itself.
func TestSteveFirstChangeNamesKindsThatAreGone(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, _ *source) {
		w := f.source(widgets)
		w.put("a", "x")
		w.close()
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		came := heard.take()
		if last := came[len(came)-1]; !strings.Contains(last, `"example.com.widget":{"summary":{},"namespaces":{}}`) {
			t.Errorf("first change is %s", last)
		}
	})
}

func TestSteveRule6FieldsComeBackAsTheyWereSent(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		for _, test := range []struct{ ask, echo string }{
			{`{"resourceType":"count","namespace":"","id":null,"resourceVersion":"7"}`, `"resourceType":"count","namespace":"","id":null`},
			{`{"mode":"","selector":{ "b": "<&>\u00e9", "a" : [1.0] },"namespace":"a","resourceType":"\u0063ount"}`, `"resourceType":"\u0063ount","namespace":"a","selector":{ "b": "<&>\u00e9", "a" : [1.0] },"mode":""`},
			{`{"resourceType":"count","selector":"x in (y)","id":"count"}`, `"resourceType":"count","id":"count","selector":"x in (y)"`},
		} {
			s.say(test.ask)
			got := heard.take()
			if len(got) != 2 {
				t.Fatalf("%s was answered by %q", test.ask, got)
			}
			same(t, test.ask, got[:1], `{"name":"resource.start",`+test.echo+`,"data":{}}`)
			if !strings.HasPrefix(got[1], `{"name":"resource.change",`+test.echo+`,"data":{"id":"count"`) {
				t.Errorf("change is %s", got[1])
			}
		}
	})
}

func TestSteveRule7PingsEvery25Seconds(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		for range 3 {
			pass(25 * time.Second)
			got := heard.take()
			if len(got) == 0 {
				t.Fatal("25 s without a ping")
			}
			same(t, "ping", got[:1], `{"name":"ping","data":{"version":"v0.0.0-test"}}`)
		}
		if err := heard.ended(); err != nil {
			t.Error(err)
		}
	})
}

// TestSteveRule8And9WhatTheDashboardGets: no revision, the links, and that one
// GET with its query.
func TestSteveRule8And9WhatTheDashboardGets(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		f.source(deployments)
		f.source(nodes)
		p.put("a", "x", counts.State{Word: "pending", Transitioning: true})
		item := `{"id":"count","type":"count","links":{"self":"/v1/counts/count"},"counts":{"apps.deployment":{"summary":{},"namespaces":{}},"node":{"summary":{}},"pod":{"summary":{"count":1,"states":{"in-progress":1},"transitioning":1},"namespaces":{"a":{"count":1,"states":{"in-progress":1},"transitioning":1}}}}}`
		_, got := f.get("/v1/counts?pagesize=100000&exclude=metadata.managedFields")
		same(t, "collection", []string{got}, `{"type":"collection","links":{"self":"/v1/counts"},"resourceType":"count","data":[`+item+"]}\n")
		_, got = f.get("/v1/counts/count")
		same(t, "count", []string{got}, item+"\n")

		_, got = f.get("/v1/schemas/count")
		same(t, "schema", []string{got}, `{"id":"count","type":"schema","links":{"collection":"/v1/counts","self":"/v1/schemas/count"},"pluralName":"counts","resourceMethods":["GET"],"collectionMethods":["GET"],"resourceFields":{},"attributes":{"namespaced":false}}`+"\n")
		_, got = f.get("/v1/schemas")
		var schemas struct{ Data []schema }
		must(t, json.Unmarshal([]byte(got), &schemas))
		var links []string
		for _, s := range schemas.Data {
			links = append(links, s.ID+" "+s.Links["collection"])
		}
		same(t, "links", links, "apps.deployment /v1/apps.deployments", "count /v1/counts", "node /v1/nodes", "pod /v1/pods")
		if response, _ := f.get("/v1/schemas/nonesuch"); response.StatusCode != 404 {
			t.Errorf("unknown schema gives %s", response.Status)
		}
	})
}

func TestSteveRule9OtherTypesHaveNoSchema(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(`{"resourceType":"pod","namespace":"a"}`)
		same(t, "pod", heard.take(),
			`{"name":"resource.error","resourceType":"pod","namespace":"a","data":{"error":"failed to find schema \"pod\""}}`,
			`{"name":"resource.stop","resourceType":"pod","namespace":"a","data":{}}`)
		s.say(`{}`)
		same(t, "none", names(t, heard.take()), resourceError, resourceStop)
		s.say(`{"resourceType":"count","id":"other"}`)
		same(t, "id", heard.take(),
			`{"name":"resource.error","resourceType":"count","id":"other","data":{"error":"count \"other\" not found"}}`,
			`{"name":"resource.stop","resourceType":"count","id":"other","data":{}}`)
	})
}

// TestSteveRule10FirstChangeWaitsForTheCounts is C29 too: one kind that never syncs
// keeps nobody from the others. The start does not wait: a dashboard whose
// connection breaks before it would never ask again.
func TestSteveRule10FirstChangeWaitsForTheCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newUnsettled(t, counts.Options{})
		p := f.source(pods)
		p.put("a", "x")
		s, other := f.dial("/v1/subscribe"), f.dial("/v1/subscribe")
		heard, heardOther := s.listen(), other.listen()
		s.say(askCount)
		pass(time.Second)
		same(t, "before", names(t, heard.take()), resourceStart)
		before := time.Now()
		if _, got := f.get("/v1/counts"); !strings.Contains(got, `"pod":{"summary":{"count":1}`) {
			t.Errorf("/v1/counts is %s", got)
		}
		if took := time.Since(before); took > 0 {
			t.Errorf("/v1/counts took %s", took)
		}
		pass(29*time.Second - 1)
		same(t, "until 30 s", names(t, heard.take()), "ping")
		pass(1)
		same(t, "then with what there is", names(t, heard.take()), resourceChange)
		heardOther.take()
		other.say(askCount)
		same(t, "other before", names(t, heardOther.take()), resourceStart)
		f.settle()
		same(t, "other after", names(t, heardOther.take()), resourceChange)
	})
}

// TestSteveRule11NoCycleFasterThanTenSeconds subscribes again whenever it is
// stopped, as the dashboard does.
func TestSteveRule11NoCycleFasterThanTenSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		var at []time.Duration
		start := time.Now()
		s.say(`{"resourceType":"pod"}`)
		for time.Since(start) < 35*time.Second {
			for _, name := range names(t, heard.take()) {
				if name == resourceError {
					at = append(at, time.Since(start))
				}
				if name == resourceStop {
					s.say(`{"resourceType":"pod"}`)
					s.say(`{"resourceType":"pod"}`)
				}
			}
			pass(100 * time.Millisecond)
		}
		same(t, "errors", []string{fmt.Sprint(at)}, "[0s 10s 20s 30s]")
	})
}

func TestSteveRule12TwoWordsOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		n := f.source(nodes)
		n.put("", "a", counts.State{Word: "not-ready", Error: true})
		n.put("", "b", counts.State{Word: "odd", Error: true, Transitioning: true})
		n.put("", "c", counts.State{Word: "pending", Transitioning: true})
		n.put("", "d", counts.State{Word: "running"})
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		if got := heard.take()[1]; !strings.Contains(got, `"node":{"summary":{"count":4,"states":{"error":2,"in-progress":1},"errors":2,"transitioning":2}}`) {
			t.Errorf("change is %s", got)
		}
	})
}

func TestSteveC30NamespaceOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		n := f.source(nodes)
		p.put("a", "x")
		p.put("b", "x")
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(`{"resourceType":"count","namespace":"a"}`)
		same(t, "start", heard.take(),
			`{"name":"resource.start","resourceType":"count","namespace":"a","data":{}}`,
			`{"name":"resource.change","resourceType":"count","namespace":"a","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":1},"namespaces":{"a":{"count":1}}}}}}`)
		p.put("b", "y")
		n.put("", "n")
		pass(5 * time.Second)
		same(t, "others", heard.take())
		p.put("a", "y")
		pass(time.Second)
		same(t, "a", heard.take(), `{"name":"resource.change","resourceType":"count","namespace":"a","data":{"id":"count","type":"count","counts":{"pod":{"summary":{"count":2},"namespaces":{"a":{"count":2}}}}}}`)
	})
}

func TestSteveModeChangesBringsNewsWithoutNumbers(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(`{"resourceType":"count","mode":"resource.changes","debounceMs":4000}`)
		news := `{"name":"resource.changes","resourceType":"count","mode":"resource.changes","data":{}}`
		same(t, "start", heard.take(), `{"name":"resource.start","resourceType":"count","mode":"resource.changes","data":{}}`, news)
		p.put("a", "x")
		pass(4*time.Second - 1)
		same(t, "within the debounce", heard.take())
		pass(1)
		same(t, "after", heard.take(), news)
		// The dashboard's worker leaves mode and debounceMs out of its stop.
		s.say(`{"resourceType":"count","stop":true}`)
		same(t, "stop", names(t, heard.take()), resourceStop)
		p.put("a", "y")
		pass(10 * time.Second)
		same(t, "stopped", heard.take())
	})
}

func TestSteveRepeatedSubscriptionChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		s.say(askCount)
		heard.take()
		for _, again := range []string{askCount, `{"resourceType":"count","namespace":"","selector":null,"id":"","mode":"","debounceMs":0}`, `{"resourceType":"count","resourceVersion":"9"}`} {
			s.say(again)
			same(t, again, heard.take())
		}
		s.say(`{"resourceType":"count","debounceMs":1000}`)
		same(t, "another", names(t, heard.take()), resourceStart, resourceChange)
		s.say(`{"resourceType":"count","namespace":"b","stop":true}`)
		same(t, "stop of none", heard.take())
		p.put("a", "x")
		pass(time.Second)
		same(t, "both stand", names(t, heard.take()), resourceChange, resourceChange)
	})
}

func TestSteveDebounceKeepsWithinItsLimits(t *testing.T) {
	for ask, want := range map[string]time.Duration{
		`0`:                    500 * time.Millisecond,
		`1`:                    50 * time.Millisecond,
		`-5`:                   500 * time.Millisecond,
		`5000`:                 5 * time.Second,
		`9223372036854775807`:  time.Minute,
		`-9223372036854775808`: 500 * time.Millisecond,
	} {
		inBubble(t, func(t *testing.T, f *fixture, p *source) {
			s := f.dial("/v1/subscribe")
			heard := s.listen()
			s.say(`{"resourceType":"count","debounceMs":` + ask + `}`)
			heard.take()
			p.put("a", "x")
			pass(want - 1)
			for _, name := range names(t, heard.take()) {
				if name == resourceChange {
					t.Errorf("debounceMs %s: change before %s", ask, want)
				}
			}
			pass(1)
			if got := names(t, heard.take()); len(got) == 0 || got[len(got)-1] != resourceChange {
				t.Errorf("debounceMs %s: no change after %s but %q", ask, want, got)
			}
		})
	}
}

func TestSteveMalformedMessageIsAnsweredAndTheConnectionStays(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		heard := s.listen()
		for _, m := range []string{`{`, ``, `null`, `[]`, `"count"`, `{"resourceType":"count"} x`, `{"resourceType":["count"]}`, `{"resourceType":"count","debounceMs":"5"}`, `{"resourceType":"count","stop":1}`, `{"resourceType":"count","namespace":{}}`} {
			s.say(m)
			got := frames(t, heard.take())
			if len(got) == 0 || got[0].Name != resourceError || got[0].Data.Error == "" {
				t.Errorf("%q was answered by %+v", m, got)
			}
		}
		s.say(`{"resourceType":"count","debounceMs":"5"}`)
		if got := heard.take()[0]; !strings.HasPrefix(got, `{"name":"resource.error","resourceType":"count","data":{"error":"malformed message:`) {
			t.Errorf("the answer does not say what it is about: %s", got)
		}
		s.say(askCount)
		same(t, "then", names(t, heard.take()), resourceStart, resourceChange)
	})
}

func TestSteveSubscriptionsOfAConnectionAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s, other := f.dial("/v1/subscribe"), f.dial("/v1/subscribe")
		heard, heardOther := s.listen(), other.listen()
		for i := range 5 {
			s.say(fmt.Sprintf(`{"resourceType":"none%d"}`, i)) // those that failed count
		}
		for i := range 5 {
			s.say(fmt.Sprintf(`{"resourceType":"count","namespace":"%d"}`, i))
		}
		heard.take()
		s.say(askCount)
		same(t, "one too many", heard.take(), `{"name":"resource.error","resourceType":"count","data":{"error":"too many subscriptions, at most 10 a connection"}}`)
		other.say(askCount)
		same(t, "another connection", names(t, heardOther.take()), resourceStart, resourceChange)
		s.say(`{"resourceType":"count","namespace":"3","stop":true}`)
		s.say(askCount)
		same(t, "one less", names(t, heard.take()), resourceStop, resourceStart, resourceChange)
		pass(steveCooling)
		heard.take()
		for i := range 5 { // those that failed are forgotten
			s.say(fmt.Sprintf(`{"resourceType":"count","debounceMs":%d}`, 100+i))
		}
		if got := names(t, heard.take()); len(got) != 10 {
			t.Errorf("got %q", got)
		}
	}, func(o *Options) { o.MaxSubscriptions = 10 })
}

// TestSteveSubscriptionThatIsOverSaysNothing although it may have been served while
// it was stopped.
func TestSteveSubscriptionThatIsOverSaysNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *source) {
		s := f.dial("/v1/subscribe")
		s.say(askCount)
		s.hear()        // its start
		synctest.Wait() // the change is being written: a pipe holds nothing
		s.say(`{"resourceType":"count","stop":true}`)
		p.put("a", "x")
		pass(time.Second)
		heard := s.listen()
		same(t, "names", names(t, heard.take()), resourceChange, resourceStop)
	})
}
