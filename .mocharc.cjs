/**
 * `npm test` runs every `*.test.ts`, which need Node, git and a compiler; `npm run test:load`, `test:browser` and
 * `test:postgres` every file of these endings. With files, those alone.
 */
const { readdirSync } = require('node:fs')

const files = (ending) =>
  readdirSync('test', { recursive: true })
    .map((name) => `test/${name}`)
    .filter((name) => name.endsWith(ending))
    .sort()

/** By the script that npm runs. */
const kind = /^test:(load|browser|postgres)$/.exec(process.env.npm_lifecycle_event ?? '')?.[1] ?? 'test'

/**
 * What these say of credentials holds on either engine, so each begins the names of files that run on PostgreSQL, too. Of the
 * operator's the others are of `credentials.sqlite` itself (credentials-file), or of no credentials (command-line, config, mirrors, trash).
 */
const onPostgres = [
  'test/accounts/',
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
 * Of these, what is counted in memory, whatever the engine; and the tables of every operation, of which each row asks the same
 * few statements that the other files of permissions and of tokens ask.
 */
const sameOnEither = [
  'test/accounts/rate-limits.',
  'test/accounts/sign-in-limits.',
  'test/accounts/token-scope.',
  'test/permissions/operations.',
]

/** @throws Error where a start begins no file: what it named would be left out in silence */
const beginning = (starts, all) => {
  const idle = starts.find((start) => !all.some((file) => file.startsWith(start)))
  if (idle !== undefined) throw new Error(`.mocharc.cjs: no file of tests begins with ${idle}`)
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
  // For what hangs: nothing takes a tenth of it on a machine that does nothing else.
  timeout: 600_000,
  slow: 5_000,
  parallel: true,
  // Twice the cores of the smallest machine that is meant: a fifth of a file's time is waiting, for locks, pauses and other processes.
  jobs: 4,
  spec: process.argv.some((word) => /\.(test|load|browser|postgres)\.ts$/.test(word)) ? [] : specs(),
}
