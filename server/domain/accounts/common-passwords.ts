/** The passwords that are guessed first. Source: zxcvbn's list, ranked by how often they were found in leaks. */

import { invalid } from '../../base/errors.ts'

/** Of those that are long enough to be taken. */
const refused = 10_000
const leastLength = 8

let known: Promise<ReadonlySet<string>> | undefined

/** @param field of the request's body @throws Invalid if the password is among the 10,000 most common, in either case */
export async function requireUncommon(field: string, password: string): Promise<void> {
  known ??= load()
  if ((await known).has(password.toLowerCase()))
    throw invalid(['body', field], 'Value error, the password is among the 10,000 most common; choose another')
}

/** Read when it is first needed, 10 ms. */
async function load(): Promise<ReadonlySet<string>> {
  const { default: ranked } = await import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } })
  return new Set(ranked.filter(({ length }) => length >= leastLength).slice(0, refused))
}
