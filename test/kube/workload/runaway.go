package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runawayInterval makes some 20 ConfigMaps a second.
const runawayInterval = 50 * time.Millisecond

// runaway is the broken controller that every cluster has had once: it creates
// ConfigMaps and never deletes one. It ends at the limit.
func (w *Workload) runaway(ctx context.Context) error {
	if w.options.RunawayLimit < 0 {
		return nil
	}
	const name = "runaway"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.writer.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); ignoreOthers(err) != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	tick := time.NewTicker(runawayInterval)
	defer tick.Stop()
	for i := range w.options.RunawayLimit {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := ignoreOthers(w.writer.configMap(ctx, name, fmt.Sprintf("lock-%05d", i))); err != nil {
			return err
		}
	}
	w.options.Logf("workload: the runaway creator has made its %d configmaps and stops", w.options.RunawayLimit)
	return nil
}
