/**
 * `npm test` runs every `*.test.ts`, which need Node, git and a compiler; `npm run test:load`, `test:browser` and
 * `test:postgres` every file of these endings. With files, those alone.
 */
const { readdirSync } = require('node:fs')

/** The longest first, so that no process is left alone with one at the end; those that mostly wait beside those that compute. */
const longest = [
  'test/index/busy',
  'test/background/maintenance',
  'test/service/',
  'test/pages/',
  'test/git/limits',
  'test/recovery/',
  'test/operator/',
  'test/index/',
  'test/damage/',
  'test/upgrade/',
  'test/import/refused',
  'test/readme/',
  'test/contents/history-beside-git',
  'test/permissions/operations',
  'test/git/damaged',
  'test/git/silence',
  'test/git/hostile',
  'test/search/',
  'test/accounts/token-scope',
  'test/git/',
  'test/layers',
  'test/import/',
  'test/metrics/workers',
  'test/input/',
  'test/accounts/',
  'test/graph/',
]

const rank = (file) => {
  const place = longest.findIndex((start) => file.startsWith(start))
  return place < 0 ? longest.length : place
}

const files = (ending) =>
  readdirSync('test', { recursive: true })
    .map((name) => `test/${name}`)
    .filter((name) => name.endsWith(ending))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))

/** By the script that npm runs. */
const kind = /^test:(load|browser|postgres)$/.exec(process.env.npm_lifecycle_event ?? '')?.[1] ?? 'test'

/**
 * What these say of credentials holds on either engine. Sign-in limits are counted in memory, whatever the engine. Of the operator's
 * the others expect `credentials.sqlite` by name (restore, doctor), or are of no credentials (command-line, config, mirror-checks, trash).
 */
const onPostgres =
  /^test\/(accounts\/(?!sign-in-limits|rate-limits)|permissions\/|operator\/(accounts|member|invite|backup|hostile-restore|interruption)\.|service\/two-processes).*\.(test|load)\.ts$/

const specs = () => [
  ...files(`.${kind}.ts`),
  ...(kind === 'postgres' ? [...files('.load.ts'), ...files('.test.ts')].filter((file) => onPostgres.test(file)) : []),
]

module.exports = {
  require: ['test/support/run.ts'],
  reporter: 'test/support/reporter.ts',
  // For what hangs: nothing takes a tenth of it on a machine that does nothing else.
  timeout: 600_000,
  slow: 5_000,
  parallel: true,
  // Twice the cores of the smallest machine that is meant: a fifth of a file's time is waiting, for locks, pauses and other processes.
  jobs: 4,
  spec: process.argv.some((word) => /\.(test|load|browser|postgres)\.ts$/.test(word)) ? [] : specs(),
}
