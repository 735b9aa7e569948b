package apiserver

import (
	"fmt"
	"strconv"
	"strings"
)

// object is one version of one object.
type object struct {
	number, version int
	moved           bool // it has another state than at first
}

// chance returns what is by chance about the object, the same whenever it is
// asked (splitmix64).
func (o object) chance() uint64 {
	x := uint64(o.number) + 0x9e3779b97f4a7c15
	if o.moved {
		x ^= 0x5851f42d4c957f2d
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (l list) namespace(o object) string {
	return "team-" + strconv.Itoa(o.number%l.options.Namespaces)
}

func (o object) app() string { return "app-" + strconv.Itoa(o.number/20) }

// name is as long as those of Pods are that Deployments make.
func (o object) name() string { return fmt.Sprintf("%s-6d4b75c5f-%06x", o.app(), o.number) }

func (l list) appendObject(b []byte, o object) []byte {
	kind, version := l.options.Kind, l.version
	if l.metadata {
		kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	b = fmt.Appendf(b, `{"kind":%q,"apiVersion":%q,`, kind, version)
	b = l.appendMetadata(b, o)
	switch {
	case l.metadata:
	case l.options.Kind == "Pod":
		b = o.appendPod(b)
	default:
		b = append(b, `,"data":{"config.yaml":"`...)
		b = append(b, strings.Repeat("log_level: info\\n", 10+int(o.chance()%100))...)
		b = append(b, `"}`...)
	}
	return append(b, '}')
}

func (l list) appendMetadata(b []byte, o object) []byte {
	b = fmt.Appendf(b, `"metadata":{"name":%q,"generateName":"%s-6d4b75c5f-","namespace":%q,"uid":"00000000-0000-4000-8000-%012x","resourceVersion":"%d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",`,
		o.name(), o.app(), l.namespace(o), o.number, o.version)
	if l.options.Kind == "Pod" && o.state() == terminating {
		b = append(b, `"deletionTimestamp":"2026-01-02T00:00:00Z","deletionGracePeriodSeconds":30,`...)
	}
	b = fmt.Appendf(b, `"labels":{"app.kubernetes.io/name":%q,"app.kubernetes.io/part-of":"shop","app.kubernetes.io/version":"1.%d.0","pod-template-hash":"6d4b75c5f"},`, o.app(), o.number%40)
	b = append(b, `"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9090","kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"},`...)
	b = fmt.Appendf(b, `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%s-6d4b75c5f","uid":"00000000-0000-4000-9000-%012x","controller":true,"blockOwnerDeletion":true}],`, o.app(), o.number/20)
	return append(b, managedFields...)
}

const managedFields = `"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"00000000-0000-4000-9000-000000000000\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:terminationGracePeriodSeconds":{}}}}]}`

// podState is what a Pod of the benchmark is in.
type podState int

const (
	running podState = iota
	crashLoop
	unschedulable
	creating
	succeeded
	failed
	terminating
)

func (o object) state() podState {
	switch n := o.chance() % 100; {
	case n < 88:
		return running
	case n < 91:
		return crashLoop
	case n < 94:
		return unschedulable
	case n < 96:
		return creating
	case n < 98:
		return succeeded
	case n < 99:
		return failed
	default:
		return terminating
	}
}

// appendPod appends spec and status. A Pod has one to three containers, and 3 to
// 6 KB of JSON in all.
func (o object) appendPod(b []byte) []byte {
	state := o.state()
	containers := 1 + int(o.chance()>>32%3)
	b = append(b, `,"spec":{"volumes":[{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420}}],"containers":[`...)
	for i := range containers {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"name":"c%d","image":"registry.example.com/shop/%s:1.%d.0","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"LOG_LEVEL","value":"info"}],"resources":{"limits":{"memory":"512Mi"},"requests":{"cpu":"100m","memory":"256Mi"}},"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"},"periodSeconds":10},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`, i, o.app(), o.number%40)
	}
	b = append(b, `],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true`...)
	if state != unschedulable {
		b = fmt.Appendf(b, `,"nodeName":"node-%d"`, o.number%200)
	}
	return o.appendStatus(b, state, containers)
}

func (o object) appendStatus(b []byte, state podState, containers int) []byte {
	const since = `"lastTransitionTime":"2026-01-01T00:00:10Z"`
	if state == unschedulable {
		return append(b, `},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/200 nodes are available: 200 Insufficient cpu.",`+since+`}],"qosClass":"Burstable"}`...)
	}
	phase, ready, reason := "Running", "True", ""
	container := `"state":{"running":{"startedAt":"2026-01-01T00:00:09Z"}}`
	switch state {
	case crashLoop:
		ready, reason = "False", `,"reason":"ContainersNotReady"`
		container = `"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 5m0s restarting failed container"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"2026-01-01T00:00:05Z","finishedAt":"2026-01-01T00:00:06Z"}}`
	case creating:
		phase, ready, reason = "Pending", "False", `,"reason":"ContainersNotReady"`
		container = `"state":{"waiting":{"reason":"ContainerCreating"}}`
	case succeeded:
		phase, ready, reason = "Succeeded", "False", `,"reason":"PodCompleted"`
		container = `"state":{"terminated":{"exitCode":0,"reason":"Completed","startedAt":"2026-01-01T00:00:05Z","finishedAt":"2026-01-01T00:00:06Z"}}`
	case failed:
		phase, ready, reason = "Failed", "False", `,"reason":"PodFailed"`
		container = `"state":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"2026-01-01T00:00:05Z","finishedAt":"2026-01-01T00:00:06Z"}}`
	}
	b = fmt.Appendf(b, `},"status":{"phase":%q,"conditions":[{"type":"Initialized","status":"True",%s},{"type":"Ready","status":%q%s,%s},{"type":"ContainersReady","status":%q%s,%s},{"type":"PodScheduled","status":"True",%s}],"hostIP":"10.0.0.1","podIP":"10.1.%d.%d","startTime":"2026-01-01T00:00:00Z","containerStatuses":[`,
		phase, since, ready, reason, since, ready, reason, since, since, o.number>>8%256, o.number%256)
	for i := range containers {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"name":"c%d",%s,"ready":%t,"started":%t,"restartCount":0,"image":"registry.example.com/shop/%s:1.%d.0","imageID":"registry.example.com/shop/%s@sha256:%064x","containerID":"containerd://%064x"}`,
			i, container, ready == "True", ready == "True", o.app(), o.number%40, o.app(), o.number/20, o.number*4+i)
	}
	return append(b, `],"qosClass":"Burstable"}`...)
}
