/** Words for the consent that a proposal lacks. Pages and models share them. */

import { plural } from './plural.ts'

/** The parts of a pull request's `consent` that the words need. */
export interface WordedConsent {
  readonly changes_requested: number
  readonly missing: readonly {
    readonly needed: number
    readonly of: { readonly role?: string; readonly people?: readonly string[] }
  }[]
  readonly verdicts: readonly { readonly author: string; readonly verdict: string; readonly counts: boolean }[]
  readonly checks: readonly { readonly name: string; readonly state: string; readonly required: boolean }[]
  readonly open_threads: number
}

/** Returns the name of a user by id. Undefined: names are not known. */
type NameOf = ((id: string) => string) | undefined

const or = new Intl.ListFormat('en-GB', { type: 'disjunction' })
const and = new Intl.ListFormat('en-GB')

/** The most names or checks in a sentence. */
const mostNamed = 5

/** Reasons of `merge_reasons` that follow from rules, with their words. */
const writers: Readonly<Record<string, (consent: WordedConsent, nameOf: NameOf) => readonly string[]>> = {
  changes_requested: (consent) => [objectionWords(consent)],
  approvals_missing: ({ missing }, nameOf) => missing.map((one) => approvalWords(one, nameOf)),
  checks_failed: ({ checks }) => [
    ...checkWords(checks.filter(({ required, state }) => required && state === 'failure')),
  ],
  checks_missing: ({ checks }) => [...checkWords(checks.filter(isWaiting))],
  threads_open: ({ open_threads }) => [`${plural(open_threads, 'open thread')} must be resolved.`],
}

/** Returns what holds the proposal up by the rules, a sentence each. It is empty if nothing does. */
export function needsOf(reasons: readonly string[], consent: WordedConsent, nameOf?: NameOf): string[] {
  return reasons.flatMap((reason) => (Object.hasOwn(writers, reason) ? (writers[reason]?.(consent, nameOf) ?? []) : []))
}

/** `Bo and Cy ask for changes.` */
export function objectionWords({ verdicts, changes_requested }: WordedConsent): string {
  const names = verdicts.filter((one) => one.verdict === 'request_changes' && one.counts).map(({ author }) => author)
  if (names.length === 0) return `${plural(changes_requested, 'request')} for changes.`
  return `${and.format(shortened(names))} ${names.length === 1 ? 'asks' : 'ask'} for changes.`
}

/** `It needs 2 more approvals by maintainers, Di or Ed.` */
function approvalWords(missing: WordedConsent['missing'][number], nameOf: NameOf): string {
  return `It needs ${plural(missing.needed, 'more approval')} by ${approversOf(missing, nameOf)}.`
}

/** Returns those whose approvals a rule lacks: `maintainers, Di or Ed`. */
export function approversOf(
  { needed, of: { role, people = [] } }: WordedConsent['missing'][number],
  nameOf: NameOf,
): string {
  const one = needed === 1
  const byRole = role === undefined ? [] : [one ? `${article(role)} ${nounOf(role)}` : `${nounOf(role)}s`]
  const named = nameOf ? shortened(people.map(nameOf)) : people.length > 0 ? [namedMembers(people.length)] : []
  return or.format([...byRole, ...named])
}

function namedMembers(count: number): string {
  return count === 1 ? 'one named member' : `one of ${count} named members`
}

function nounOf(role: string): string {
  return role === 'reader' ? 'member' : role
}

function article(role: string): string {
  return /^[aeiou]/.test(nounOf(role)) ? 'an' : 'a'
}

function isWaiting({ required, state }: WordedConsent['checks'][number]): boolean {
  return required && state !== 'failure' && state !== 'success'
}

const checkStates: Readonly<Record<string, string>> = {
  failure: 'has failed',
  pending: 'is running',
  missing: 'has not been reported',
}

export function* checkWords(checks: WordedConsent['checks']): Iterable<string> {
  for (const { name, state } of checks.slice(0, mostNamed))
    yield `The check ${name} ${Object.hasOwn(checkStates, state) ? checkStates[state] : 'cannot be read'}.`
  if (checks.length > mostNamed) yield `${plural(checks.length - mostNamed, 'more check')} did not pass.`
}

function shortened(names: readonly string[]): string[] {
  const more = names.length - mostNamed
  return more > 0 ? [...names.slice(0, mostNamed), `${more} more`] : [...names]
}

/** The users who may merge, by the least role: `maintainers and owners`. */
export function mergersOf(role: string): string {
  if (role === 'owner') return 'owners'
  return role === 'maintainer' ? 'maintainers and owners' : 'editors, maintainers and owners'
}

const overriddenWords: Readonly<Record<string, string>> = {
  changes_requested: 'a request for changes',
  approvals_missing: 'missing approvals',
  checks_failed: 'a failed check',
  checks_missing: 'a missing check',
  threads_open: 'open threads',
}

/** Names the reasons that an owner overrode: `missing approvals and open threads`. */
export function overriddenOf(reasons: readonly string[]): string {
  return and.format(reasons.map((one) => (Object.hasOwn(overriddenWords, one) ? (overriddenWords[one] ?? one) : one)))
}
