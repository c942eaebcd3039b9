/** Mocha's options for all tests. `test/support/mocha.ts` chooses the files. */
module.exports = {
  require: ['test/support/run.ts'],
  ui: 'test/support/interface.ts',
  reporter: 'test/support/reporter.ts',
  // Only for tests that hang. On an idle machine, no test needs a tenth of this.
  timeout: 600_000,
  slow: 5_000,
  parallel: true,
  // Twice the cores of the smallest supported machine. A fifth of a file's time is spent waiting for locks, pauses and
  // other processes.
  jobs: 4,
}
