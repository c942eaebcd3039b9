/**
 * Prints mocha's report, and writes results as JSON to the file in GROVE_TEST_RESULTS. They are the counts, the failures
 * and the costs of tests and files. `.ci/run` prints the failures again as its last lines.
 */

import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { inspect } from 'node:util'
import Mocha from 'mocha'
import { type Cost, costsOf } from './costs.ts'

export interface Results {
  readonly stats: Mocha.Stats | undefined
  readonly failed: readonly { readonly file: string; readonly title: string; readonly error: string }[]
  readonly costs: readonly Cost[]
}

export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const path = process.env.GROVE_TEST_RESULTS
    if (path === undefined || path === '') return
    const failed: Results['failed'][number][] = []
    runner.on('fail', (test, error: unknown) => {
      failed.push({ file: relative('.', test.file ?? ''), title: test.fullTitle(), error: inspect(error) })
    })
    runner.once('end', () => {
      const results: Results = { stats: runner.stats, failed, costs: costsOf(process.env.GROVE_RUN_FOLDER ?? '') }
      writeFileSync(path, JSON.stringify(results))
    })
  }
}
