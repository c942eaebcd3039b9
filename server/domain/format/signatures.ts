/** Authors and times in Git commits. */

import { cleanPersonName } from '../../../gitstore/names.ts'
import { type Person as GitPerson, latestTime } from '../../../gitstore/objects/commits.ts'

export interface Author {
  readonly name: string
  readonly email: string
}

/** The author without further fields: the ledger stores it as it is. */
export function authorOf({ name, email }: Author): Author {
  return { name, email }
}

/** The signature of a commit. Git keeps only whole seconds. */
export function signature({ name, email }: Author, at: Date | string): GitPerson {
  const timestamp = Math.floor(new Date(at).getTime() / 1000)
  return { name: cleanPersonName(name), email: cleanPersonName(email), timestamp, timezoneOffset: 0 }
}

/**
 * The bytes of a JSON file in a repository. It is indented by two spaces and ends with a newline, for readable diffs.
 */
export function asJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

/** A commit's time in ISO 8601, UTC, in whole seconds. Years after 9999 become 1970, as in git. */
export function timeOf({ timestamp }: GitPerson): string {
  return new Date(timestamp <= latestTime ? timestamp * 1000 : 0).toISOString()
}

/** The later of two ISO 8601 times. A commit's time has no fraction, so it is never later than others in its second. */
export function laterOf(a: string, b: string): string {
  return a > b ? a : b
}
