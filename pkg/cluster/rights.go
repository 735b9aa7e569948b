package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/countd/countd/pkg/counts"
)

const (
	// reviewEvery is how often the API server is asked anew what may be done in a
	// namespace: one request, whatever the number of kinds. A new namespace is asked
	// about again at each of reviewAgain, because the rights in it are made after it.
	reviewEvery = 10 * time.Minute
	// reviewWide is the same for the rights that are good in all namespaces.
	reviewWide = time.Minute
	// nowhere is the name of no namespace. What may be done there may be done
	// anywhere: RBAC adds to that what is bound in a namespace.
	nowhere = "-"
	// reviewsAtOnce bounds the requests that are under way.
	reviewsAtOnce = 4
	// reviewRetry is when a question that was not answered is asked again.
	reviewRetry = 30 * time.Second
)

var reviewAgain = [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// namespaces is the resource by which the namespaces are known.
func namespaces() counts.Resource {
	return counts.Resource{Version: "v1", Name: "namespaces", Kind: "Namespace"}
}

// rights knows in which namespaces countd's identity may list and watch what. It asks
// nothing before somebody was refused. It is safe for concurrent use.
type rights struct {
	reviews authorizationclient.AuthorizationV1Interface
	in      *reader // of the namespaces
	turns   *turns
	own     string // countd's own namespace, in case namespaces may not be listed; or empty
	log     *slog.Logger

	needed chan struct{} // closed when somebody was refused
	need   func()        // closes it
	known  chan struct{} // closed when each namespace was asked about
	woken  chan struct{} // holds one: there is another namespace

	mu     sync.Mutex
	listed bool // namespaces may be listed
	spaces map[string]*space
	wide   *space
	newer  chan struct{} // closed and replaced when something may have changed
}

// space is what is known of a namespace.
type space struct {
	rules *rules
	due   time.Time // when it is asked about
	again int       // the next of reviewAgain
}

// rules are what may be listed and watched. Namespaces in which it is the same share
// them, because cluster-wide rules are in the answer for each.
type rules struct {
	text  string
	rules []rbacv1.PolicyRule
}

func newRights(reviews authorizationclient.AuthorizationV1Interface, in *reader, t *turns, own string, log *slog.Logger) *rights {
	r := &rights{
		reviews: reviews,
		in:      in,
		turns:   t,
		own:     own,
		log:     log,
		needed:  make(chan struct{}),
		known:   make(chan struct{}),
		woken:   make(chan struct{}, 1),
		spaces:  make(map[string]*space),
		wide:    new(space),
		newer:   make(chan struct{}),
	}
	r.need = sync.OnceFunc(func() { close(r.needed) })
	return r
}

// run keeps them up to date until ctx ends, once somebody needs them.
func (r *rights) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.needed:
	}
	r.log.Info("some resources may not be listed cluster-wide: those are counted in the namespaces where they may")
	apart := newBoard(slog.New(slog.DiscardHandler)) // not counted here, so not on the board
	f := newWatchFeed(r.in, &roster{rights: r}, apart.report(namespaces()), r.turns)
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { f.run(ctx) })
	for apart.all()[0].Phase == counts.Syncing {
		select {
		case <-ctx.Done():
			return
		case <-apart.changed:
		}
	}
	r.setListed(apart.all()[0].Phase == counts.Ready)
	r.review(ctx)
	close(r.known)
	for {
		wait := time.NewTimer(r.wait())
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-apart.changed:
			r.setListed(apart.all()[0].Counted)
		case <-r.woken:
		case <-wait.C:
		}
		wait.Stop()
		r.review(ctx)
	}
}

// setListed says whether the namespaces are known. Where they are not, there is
// countd's own.
func (r *rights) setListed(listed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = listed
	if _, ok := r.spaces[r.own]; !listed && !ok && r.own != "" {
		r.spaces[r.own] = new(space)
	}
}

// wait is how long it is to the next question.
func (r *rights) wait() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.wide.due
	for _, s := range r.spaces {
		if s.due.Before(next) {
			next = s.due
		}
	}
	return time.Until(next)
}

// review asks about each namespace that is due, and in any case about nowhere.
func (r *rights) review(ctx context.Context) {
	r.mu.Lock()
	now := time.Now()
	due := []string{nowhere}
	for name, s := range r.spaces {
		if !s.due.After(now) {
			due = append(due, name)
		}
	}
	r.mu.Unlock()
	workqueue.ParallelizeUntil(ctx, reviewsAtOnce, len(due), func(i int) {
		found, err := r.ask(ctx, due[i])
		if err != nil && ctx.Err() == nil {
			r.log.Warn("what may be listed in a namespace is not known", "namespace", due[i], "error", err)
		}
		r.answered(due[i], found, err)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
}

// ask asks for the rules of a namespace. They need not be all where an authorizer
// cannot tell its own, such as a webhook: then what those allow is not found.
func (r *rights) ask(ctx context.Context, namespace string) (*rules, error) {
	review, err := r.reviews.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking for countd's own rights: %w", err)
	}
	found := new(rules)
	for _, rule := range review.Status.ResourceRules {
		verbs := slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb != "list" && verb != "watch" && verb != rbacv1.VerbAll })
		if len(verbs) > 0 && len(rule.ResourceNames) == 0 {
			found.rules = append(found.rules, rbacv1.PolicyRule{Verbs: verbs, APIGroups: rule.APIGroups, Resources: rule.Resources})
		}
	}
	text, err := json.Marshal(found.rules)
	found.text = string(text)
	return found, err
}

func (r *rights) answered(namespace string, found *rules, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.spaces[namespace]
	if namespace == nowhere {
		s, ok = r.wide, true
	}
	switch {
	case !ok: // deleted meanwhile
	case err != nil:
		s.due = time.Now().Add(jitter(reviewRetry))
	default:
		s.rules = found
		for _, other := range r.spaces {
			if other.rules != nil && other.rules.text == found.text {
				s.rules = other.rules
				break
			}
		}
		s.due = time.Now().Add(jitter(reviewEvery))
		switch {
		case s == r.wide:
			s.due = time.Now().Add(jitter(reviewWide))
		case s.again < len(reviewAgain):
			s.due = time.Now().Add(reviewAgain[s.again])
			s.again++
		}
	}
}

// where returns the namespaces in which a resource may be listed and watched, in
// order, whether it seems that it may be everywhere, and a channel that is closed when
// that may have changed.
func (r *rights) where(resource counts.Resource) (names []string, everywhere bool, newer <-chan struct{}) {
	needed := []rbacv1.PolicyRule{{Verbs: []string{"list", "watch"}, APIGroups: []string{resource.Group}, Resources: []string{resource.Name}}}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[*rules]bool) // few, however many namespaces
	allowed := func(s *space) bool {
		may, ok := known[s.rules]
		if !ok && s.rules != nil {
			may, _ = validation.Covers(s.rules.rules, needed)
			known[s.rules] = may
		}
		return may
	}
	for name, s := range r.spaces {
		if allowed(s) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, allowed(r.wide), r.newer
}

// everywhere asks whether a resource may be listed and watched cluster-wide.
func (r *rights) everywhere(ctx context.Context, resource counts.Resource) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review, err := r.reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("asking for countd's own rights: %w", err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

// namespacesListed says whether the namespaces are known.
func (r *rights) namespacesListed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed
}

func (r *rights) isKnown() bool {
	select {
	case <-r.known:
		return true
	default:
		return false
	}
}

// changed tells those who wait that something may have. r.mu is held.
func (r *rights) changed() {
	close(r.newer)
	r.newer = make(chan struct{})
}
