package apiserver

import (
	"flag"
	"strconv"
)

// Flags adds the options as flags, with the values that o has as defaults.
func (o *Options) Flags(set *flag.FlagSet) {
	set.IntVar(&o.Objects, "objects", o.Objects, "`number` of objects")
	set.IntVar(&o.Namespaces, "namespaces", o.Namespaces, "`number` of namespaces that they are in")
	set.IntVar(&o.Changes, "changes", o.Changes, "`number` of changes after the first list, each a deletion, a creation and an update; -1 is one for ten objects")
	set.StringVar(&o.Kind, "kind", o.Kind, "Pod, or ConfigMap, of which countd reads only metadata")
	set.BoolVar(&o.NoStreamingLists, "pages", o.NoStreamingLists, "have lists read in pages, as from an old API server")
	set.BoolVar(&o.Held, "held", o.Held, "have the changes wait for a POST to /bench/release")
	set.IntVar(&o.Custom, "custom-kinds", o.Custom, "`number` of custom kinds besides, with an object in each namespace")
	set.BoolVar(&o.Live, "live", o.Live, "have objects created by POST, and no changes otherwise")
}

// Default fills in what flags leave open.
func (o *Options) Default() {
	if o.Changes < 0 {
		o.Changes = o.Objects / 10
	}
}

// Args are the flags that say what o says.
func (o *Options) Args() []string {
	return []string{
		"-objects", strconv.Itoa(o.Objects), "-namespaces", strconv.Itoa(o.Namespaces), "-changes", strconv.Itoa(o.Changes),
		"-kind", o.Kind, "-pages=" + strconv.FormatBool(o.NoStreamingLists), "-held=" + strconv.FormatBool(o.Held),
		"-custom-kinds", strconv.Itoa(o.Custom), "-live=" + strconv.FormatBool(o.Live),
	}
}
