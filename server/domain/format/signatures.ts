/** People as Git knows them: a name and an e-mail address in a commit. */

import { cleanPersonName } from '../../../gitstore/names.ts'
import { type Person as GitPerson, latestTime } from '../../../gitstore/objects/commits.ts'

export interface Author {
  readonly name: string
  readonly email: string
}

/** The line of a commit; Git keeps whole seconds. */
export function signature({ name, email }: Author, at: Date | string): GitPerson {
  const timestamp = Math.floor(new Date(at).getTime() / 1000)
  return { name: cleanPersonName(name), email: cleanPersonName(email), timestamp, timezoneOffset: 0 }
}

/** The bytes of a JSON file in a repository: two spaces, a final newline, so that a diff reads well. */
export function asJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

/** ISO 8601 in UTC, of a commit's whole seconds; 1970 for one after the year 9999, as git shows a time that it cannot write. */
export function timeOf({ timestamp }: GitPerson): string {
  return new Date(timestamp <= latestTime ? timestamp * 1000 : 0).toISOString()
}

/** Of two times in ISO 8601; a commit's has no fraction, so what was made within its second is not younger than it. */
export function laterOf(a: string, b: string): string {
  return a > b ? a : b
}
