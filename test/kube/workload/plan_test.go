package workload

import (
	"reflect"
	"testing"
)

func TestSeedDecidesThePlan(t *testing.T) {
	const count = 60 // more than there are names of teams
	if !reflect.DeepEqual(plans(7, count), plans(7, count)) {
		t.Error("one seed gives two plans")
	}
	if reflect.DeepEqual(plans(7, count), plans(8, count)) {
		t.Error("two seeds give one plan")
	}
}

func TestPlanHasNoNameTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range plans(1, 120) {
		if seen[p.namespace] {
			t.Errorf("two namespaces are called %s", p.namespace)
		}
		seen[p.namespace] = true
		pods := map[string]bool{}
		for _, one := range p.allPods() {
			if pods[one.name] {
				t.Errorf("two pods are called %s/%s", p.namespace, one.name)
			}
			pods[one.name] = true
		}
	}
}
