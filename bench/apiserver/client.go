package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Client asks a Server in another process for what no API server has. It is
// immutable.
type Client struct{ URL string }

// Moment is Server.Moment.
func (c Client) Moment(ctx context.Context) (Moment, error) {
	return c.ask(ctx, http.MethodGet, "/bench/moment")
}

// Expire is Server.Expire.
func (c Client) Expire(ctx context.Context, gone int) (Moment, error) {
	return c.ask(ctx, http.MethodPost, "/bench/expire?gone="+strconv.Itoa(gone))
}

// Release is Server.Release.
func (c Client) Release(ctx context.Context) (Moment, error) {
	return c.ask(ctx, http.MethodPost, "/bench/release")
}

func (c Client) ask(ctx context.Context, method, path string) (m Moment, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, http.NoBody)
	if err != nil {
		return m, err
	}
	request.Close = true // once in a while is not worth a connection
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return m, fmt.Errorf("asking the API server: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return m, fmt.Errorf("asking the API server for %s: %s", path, response.Status)
	}
	return m, json.NewDecoder(response.Body).Decode(&m)
}
