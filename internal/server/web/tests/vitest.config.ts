import { defineConfig } from 'vitest/config'

// The tests in a browser, one after the other: they share one service.
export default defineConfig({
  test: { root: import.meta.dirname, include: ['browser.test.ts'], testTimeout: 180_000, hookTimeout: 120_000, fileParallelism: false, bail: 0 },
})
