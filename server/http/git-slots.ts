/** How many gits run at once, how many requests wait for one, and that nobody takes them all. */

import { availableParallelism } from 'node:os'
import { Refusal } from '../errors.ts'

/** Of this process. Git's children are niced, so that REST goes before them. */
const running = Math.max(4, 2 * availableParallelism())
/** Of these, for one person (or address) and for one repository: another's clone always finds one free. */
const runningForOne = running - 1
/** Requests that wait, and of one person. */
const waiting = 256
const waitingForOne = 128
/** Milliseconds that a request waits; git itself waits as long as the connection stands. */
const patience = 300_000

interface Waiter {
  readonly keys: readonly string[]
  admit(): void
}

const counts = new Map<string, number>()
const queue = new Set<Waiter>()
let total = 0

/**
 * Waits for a slot; the answer gives it back. `person` first of `keys`.
 *
 * @throws Refusal busy: too many wait, or it took five minutes
 */
export async function takeSlot(
  keys: readonly [person: string, repository: string],
  signal: AbortSignal,
): Promise<() => void> {
  if (!isFree(keys)) await turn(keys, signal)
  else take(keys)
  let held = true
  return () => {
    if (!held) return
    held = false
    total--
    for (const key of keys) {
      const left = (counts.get(key) ?? 1) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    }
    for (const waiter of queue) {
      if (!isFree(waiter.keys)) continue
      queue.delete(waiter)
      take(waiter.keys)
      waiter.admit()
    }
  }
}

function isFree(keys: readonly string[]): boolean {
  return total < running && keys.every((key) => (counts.get(key) ?? 0) < runningForOne)
}

function take(keys: readonly string[]): void {
  total++
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
}

function turn(keys: readonly [string, string], signal: AbortSignal): Promise<void> {
  const mine = [...queue].filter((waiter) => waiter.keys[0] === keys[0]).length
  if (queue.size >= waiting || mine >= waitingForOne) throw tooMany()
  return new Promise((resolve, reject) => {
    const leave = () => {
      if (queue.delete(waiter)) reject(tooMany())
    }
    const timer = setTimeout(leave, patience)
    const waiter: Waiter = {
      keys,
      admit: () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        resolve()
      },
    }
    signal.addEventListener('abort', leave, { once: true })
    queue.add(waiter)
  })
}

function tooMany(): Refusal {
  return new Refusal('busy', 'Too many clones and pushes at this moment; try again')
}
