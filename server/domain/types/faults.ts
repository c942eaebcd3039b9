/** Faults of a definition, each at its place. */

import { isOneLine } from '../format/text-rules.ts'
import { counted, describe, didYouMean, either, pathOf, quote, type Steps } from './wording.ts'

/** A fault. `msg` is a sentence that is right without the place. */
export interface Fault {
  readonly place: Steps
  readonly msg: string
  readonly type: 'missing' | 'extra_forbidden' | 'unknown_keyword' | 'value_error'
}

/** The most faults of a definition that are listed. */
const mostFaults = 100

/** Collects faults, and reads simple values. A value with a fault is undefined. */
export class Faults {
  readonly list: Fault[] = []

  /** Adds a fault. @param says the sentence after the place */
  add(place: Steps, says: string, type: Fault['type'] = 'value_error'): undefined {
    this.put(`${pathOf(place) || 'The definition'} ${says}`, place, type)
  }

  /** Adds a fault with a whole sentence. */
  put(msg: string, place: Steps, type: Fault['type'] = 'value_error'): void {
    if (this.list.length < mostFaults) this.list.push({ place, msg, type })
  }

  /** Adds a fault of a value. @param must the sentence after `must` */
  wrong(place: Steps, must: string, value: unknown): undefined {
    return this.add(place, `must ${must}; it is ${describe(value)}`)
  }

  /** Reports members that are not known. */
  checkNames(json: object, place: Steps, known: readonly string[]): void {
    for (const name of Object.keys(json))
      if (!known.includes(name))
        this.add([...place, name], `is not known here${didYouMean(name, known)}`, 'extra_forbidden')
  }

  /** Reads one line of text. */
  line(value: unknown, place: Steps, most: number): string | undefined {
    if (typeof value === 'string' && value.trim() !== '' && value.length <= most && isOneLine(value)) return value
    const length = counted(most, 'character')
    return this.wrong(place, `be one line of text with 1 to ${length}, without control characters`, value)
  }

  /** Checks the name of a field, which is at the end of its place. */
  fieldName(name: string, place: Steps, most: number): boolean {
    if (name !== '' && name.length <= most && isOneLine(name)) return true
    this.add(place, `must have a name of 1 to ${counted(most, 'character')}, without control characters`)
    return false
  }

  text(value: unknown, place: Steps): string | undefined {
    return typeof value === 'string' ? value : this.wrong(place, 'be a text', value)
  }

  boolean(value: unknown, place: Steps): boolean | undefined {
    return typeof value === 'boolean' ? value : this.wrong(place, 'be true or false', value)
  }

  number(value: unknown, place: Steps): number | undefined {
    return typeof value === 'number' && Number.isFinite(value) ? value : this.wrong(place, 'be a number', value)
  }

  /** Reads a whole number. */
  count(value: unknown, place: Steps, least = 0): number | undefined {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
    return this.wrong(place, `be a whole number of at least ${least}`, value)
  }

  object(value: unknown, place: Steps): Readonly<Record<string, unknown>> | undefined {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    return this.wrong(place, 'be an object', value)
  }

  /** Reads a list. `read` reports the faults of an item. Equal items are a fault. */
  items(value: unknown, place: Steps, most: number, read: (item: unknown, place: Steps) => unknown): undefined {
    if (!Array.isArray(value)) return this.wrong(place, 'be a list', value)
    if (value.length > most)
      return this.add(place, `must have at most ${counted(most, 'item')}; it has ${value.length}`)
    const seen = new Set<unknown>()
    for (const [n, item] of value.entries()) {
      const at = [...place, n]
      read(item, at)
      if (seen.has(item)) this.add(at, `must not be in the list twice`)
      seen.add(item)
    }
  }

  choice(value: unknown, place: Steps, choices: readonly string[]): void {
    if (typeof value !== 'string' || !choices.includes(value))
      this.wrong(place, `be ${either(choices.map(quote))}`, value)
  }
}
