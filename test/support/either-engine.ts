/** Chooses the test files that also run with credentials in PostgreSQL. */

import { filesOf } from './choose.ts'

/**
 * Files that begin with one of these also run on PostgreSQL. Credentials must behave the same on both engines.
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
 * Files of these that do not run on PostgreSQL. Some test counts that are in memory with either engine, or copy a whole
 * data folder. The other files are tables of all operations, whose rows run the same few statements as the other files on permissions and tokens.
 */
const sameOnEither = [
  'test/accounts/rate-limits.',
  'test/accounts/sign-in-limits.',
  'test/accounts/token-scope.',
  'test/permissions/hidden-nodes.',
  'test/permissions/operations.',
]

/**
 * Returns files that begin with one of `starts`.
 *
 * @throws Error if no file begins with a start, which would silently skip tests
 */
function beginning(starts: readonly string[], all: readonly string[]): string[] {
  const idle = starts.find((start) => !all.some((file) => file.startsWith(start)))
  if (idle !== undefined) throw new Error(`No test file begins with ${idle}`)
  return all.filter((file) => starts.some((start) => file.startsWith(start)))
}

export function withEitherEngine(): string[] {
  const all = [...filesOf('load'), ...filesOf('deep'), ...filesOf('test')]
  const without = beginning(sameOnEither, all)
  return beginning(onPostgres, all).filter((file) => !without.includes(file))
}
