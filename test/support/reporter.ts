/** What mocha prints, and its counts as JSON in the file that GROVE_TEST_RESULTS names: for `.ci/run`. */

import { writeFileSync } from 'node:fs'
import Mocha from 'mocha'

export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    const file = process.env.GROVE_TEST_RESULTS
    if (file === undefined || file === '') return
    runner.once('end', () => writeFileSync(file, JSON.stringify({ stats: runner.stats })))
  }
}
