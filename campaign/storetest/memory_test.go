package storetest_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opener {
		m := &storetest.Memory{}
		return func() campaign.Store { return m }
	})
}
