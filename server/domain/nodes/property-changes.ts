/** Changes of properties that requests send: all of them together, or single ones. */

import { type Problem, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { PropertyChanges } from '../format/node-files.ts'

/** Only one of the two may be sent. */
export interface PropertyPatch {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly merge_properties?: PropertyChanges
}

/**
 * Refuses single properties next to all properties, and too many of them.
 *
 * @param loc the part of the request that has `merge_properties`
 * @throws ValidationError
 */
export function refuseWrongMerge({ properties, merge_properties: merge }: PropertyPatch, loc: Problem['loc']): void {
  if (merge === undefined) return
  const refuse = (msg: string): never => {
    throw new ValidationError([{ loc: [...loc, 'merge_properties'], msg, type: 'value_error' }])
  }
  if (properties !== undefined)
    refuse('`properties` replaces all properties and `merge_properties` changes single ones; send only one of them')
  if (Buffer.byteLength(JSON.stringify(merge)) > limits.propertiesBytes)
    refuse('`merge_properties` must not be larger than 64 KiB as JSON on one line')
}

/** Locates a place of node.json in a request that changes properties. */
export function locateProperty({ merge_properties: merge }: PropertyPatch, steps: Problem['loc']): Problem['loc'] {
  const [first, ...others] = steps
  return first === 'properties' && merge !== undefined ? ['merge_properties', ...others] : steps
}
