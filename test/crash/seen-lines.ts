/** Files of JSON lines to which processes append that are killed at any moment. Imports nothing of the service. */

import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'

/** Lines of a file. A half-written last line is left out. */
export function readSeen<T>(file: string): T[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

/** Removes a half-written last line, so that the next one begins a line. */
export function removeHalfLine(file: string): void {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  const end = bytes.lastIndexOf('\n') + 1
  if (end < bytes.length) truncateSync(file, end)
}

/** Appends a line in two writes, so that kills leave half-written lines. */
export function appendSeen(file: string, line: object): void {
  const text = `${JSON.stringify(line)}\n`
  const middle = Math.floor(text.length / 2)
  appendFileSync(file, text.slice(0, middle))
  appendFileSync(file, text.slice(middle))
}
