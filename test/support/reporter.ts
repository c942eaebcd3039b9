/**
 * Prints mocha's report, and writes results as JSON to the file in GROVE_TEST_RESULTS. They are the counts, the
 * failures, which `.ci/run` prints again as its last lines, and the milliseconds of each file's tests. The longest file
 * comes first.
 */

import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { inspect } from 'node:util'
import Mocha from 'mocha'

export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const results = process.env.GROVE_TEST_RESULTS
    if (results === undefined || results === '') return
    const took = new Map<string, number>()
    runner.on('test end', ({ file, duration }) => {
      const name = relative('.', file ?? '')
      took.set(name, (took.get(name) ?? 0) + (duration ?? 0))
    })
    const failures: string[] = []
    runner.on('fail', (test, error: unknown) => {
      failures.push(`${relative('.', test.file ?? '')}: ${test.fullTitle()}\n${inspect(error)}`)
    })
    runner.once('end', () => {
      const files = Object.fromEntries([...took].sort(([, one], [, other]) => other - one))
      writeFileSync(results, JSON.stringify({ stats: runner.stats, failures, files }))
    })
  }
}
