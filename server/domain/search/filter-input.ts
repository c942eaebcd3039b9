/** Filters of nodes as requests have them. */

import type { ReadCondition } from '../../../index/properties/box-conditions.ts'
import { type Filter, FilterError, readFilter } from '../../../index/properties/filter.ts'
import { readTextFilter } from '../../../index/properties/text-filter.ts'
import type { UnknownName } from '../../../index/properties/unknown-names.ts'
import { ValidationError } from '../../base/errors.ts'
import type { Services } from '../services.ts'

/**
 * Reads a filter in its JSON form or in its text form. The conditions of a text form have their positions.
 *
 * @param loc the place in the request
 * @throws ValidationError filter_syntax, filter_too_large
 */
export function filterIn(
  deps: Pick<Services, 'now'>,
  where: unknown,
  loc: readonly string[],
): { readonly where: Filter; readonly conditions?: readonly ReadCondition[] } {
  if (typeof where !== 'string') return { where: located(loc, () => readFilter(where)) }
  const { filter, terms } = located(loc, () => readTextFilter(where, todayOf(deps)))
  return { where: filter, conditions: terms.map(({ from, to }) => ({ text: where.slice(from, to), from, to })) }
}

/** Returns the day that `today` stands for in a text form, in UTC. */
export function todayOf({ now }: Pick<Services, 'now'>): string {
  return now().toISOString().slice(0, 10)
}

/** Runs `read`, and gives a FilterError the place in the request. */
export function located<T>(loc: readonly string[], read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    const { code, message, place, at } = error
    throw new ValidationError([
      { loc: [...loc, ...place], msg: message, type: code, ...(at !== undefined && { ctx: { at } }) },
    ])
  }
}

/** Returns the nearest known name of each name that no node has, or null. */
export function nearestNames(unknown: readonly UnknownName[]): Record<string, string | null> {
  return Object.fromEntries(unknown.map(({ name, nearest = null }) => [name, nearest]))
}
