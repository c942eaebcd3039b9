/** Merges properties into the text of node.json. All other bytes are kept. */

import { isRecord, parseJson } from './json-text.ts'
import { changedJson, type PropertyChanges } from './node-files.ts'

/**
 * Sets properties in the text of node.json, and removes those whose new value is null. Source: RFC 7396, only for the
 * outermost names.
 *
 * @returns undefined if the text is not a JSON object
 */
export function mergeProperties(text: string, changes: PropertyChanges): string | undefined {
  return isRecord(parseJson(text)) ? changedJson(Buffer.from(text), {}, changes).toString() : undefined
}
