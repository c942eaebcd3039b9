/**
 * Mocha's configuration. `npm test` runs every `*.test.ts`. They need Node, git and a compiler. `npm run test:load`,
 * `test:browser`, `test:tools` and `test:postgres` run all files with these endings. If files are given, only those run.
 */
const { readdirSync } = require('node:fs')

const files = (ending) =>
  readdirSync('test', { recursive: true })
    .map((name) => `test/${name}`)
    .filter((name) => name.endsWith(ending))
    .sort()

/** The kind of tests, from the name of the npm script. */
const kind = /^test:(load|browser|postgres|tools)$/.exec(process.env.npm_lifecycle_event ?? '')?.[1] ?? 'test'

/**
 * Files that begin with one of these also run on PostgreSQL, because credentials must behave the same on both engines.
 * The other files of `test/operator` test `credentials.sqlite` itself (credentials-file), or do not use credentials
 * (command-line, config, mirrors, trash).
 */
const onPostgres = [
  'test/accounts/',
  'test/mail/',
  'test/permissions/',
  'test/operator/accounts.',
  'test/operator/backup.',
  'test/operator/doctor.',
  'test/operator/hostile-restore.',
  'test/operator/interruption.',
  'test/operator/invite.',
  'test/operator/member.',
  'test/operator/restore.',
  'test/service/two-processes.',
]

/**
 * Files of these that do not run on PostgreSQL. Some test counts that are in memory with either engine. Others are
 * tables of all operations, whose rows run the same few statements as the other files on permissions and tokens.
 */
const sameOnEither = [
  'test/accounts/rate-limits.',
  'test/accounts/sign-in-limits.',
  'test/accounts/token-scope.',
  'test/permissions/operations.',
]

/**
 * Returns files that begin with one of `starts`.
 *
 * @throws Error if no file begins with a start, which would silently skip tests
 */
const beginning = (starts, all) => {
  const idle = starts.find((start) => !all.some((file) => file.startsWith(start)))
  if (idle !== undefined) throw new Error(`.mocharc.cjs: no test file begins with ${idle}`)
  return all.filter((file) => starts.some((start) => file.startsWith(start)))
}

const withEitherEngine = () => {
  const all = [...files('.load.ts'), ...files('.test.ts')]
  const without = beginning(sameOnEither, all)
  return beginning(onPostgres, all).filter((file) => !without.includes(file))
}

const specs = () => [...files(`.${kind}.ts`), ...(kind === 'postgres' ? withEitherEngine() : [])]

module.exports = {
  require: ['test/support/run.ts'],
  reporter: 'test/support/reporter.ts',
  // Only for tests that hang. On an idle machine, no test needs a tenth of this.
  timeout: 600_000,
  slow: 5_000,
  parallel: true,
  // Twice the cores of the smallest supported machine. A fifth of a file's time is spent waiting for locks, pauses and
  // other processes.
  jobs: 4,
  spec: process.argv.some((word) => /\.(test|load|browser|postgres|tools)\.ts$/.test(word)) ? [] : specs(),
}
