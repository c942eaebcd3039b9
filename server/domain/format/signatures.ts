/** People and times in Git commits. */

import { cleanPersonName } from '../../../gitstore/names.ts'
import { type Person as GitPerson, latestTime } from '../../../gitstore/objects/commits.ts'

export interface Author {
  readonly name: string
  readonly email: string
}

/** Without further members: the ledger stores it as it is. */
export function authorOf({ name, email }: Author): Author {
  return { name, email }
}

/** The signature of a commit; Git keeps whole seconds. */
export function signature({ name, email }: Author, at: Date | string): GitPerson {
  const timestamp = Math.floor(new Date(at).getTime() / 1000)
  return { name: cleanPersonName(name), email: cleanPersonName(email), timestamp, timezoneOffset: 0 }
}

/** The bytes of a JSON file in a repository: indented by two spaces, with a final newline, for readable diffs. */
export function asJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

/** A commit's time as ISO 8601 in UTC, whole seconds; 1970 for years after 9999, as git shows times it cannot format. */
export function timeOf({ timestamp }: GitPerson): string {
  return new Date(timestamp <= latestTime ? timestamp * 1000 : 0).toISOString()
}

/** The later of two ISO 8601 times. A commit's time has no fraction, so it is not later than others in its second. */
export function laterOf(a: string, b: string): string {
  return a > b ? a : b
}
