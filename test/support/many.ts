/** Sends many requests at the same time. */

import { expecting } from './node.ts'
import type { Answer } from './people.ts'

export function commitOf(message: string, path = `${message}.txt`, content = message) {
  return { message, changes: [{ action: 'put', path, content }] }
}

/** Returns the body of a 201. @throws Error for any other answer */
export function created(answer: Answer): Answer['body'] {
  return expecting(201)(answer).body
}

/** Runs `work` `count` times at once. */
export function times<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => work(n)))
}
