/** The problems that a storm has found, and the search for them in many places. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../support/people.ts'
import type { World } from './world.ts'

export function problem({ problems }: Pick<World, 'problems'>, what: string, answer?: Answer): void {
  problems.push(answer ? `${what}: ${answer.status} ${JSON.stringify(answer.body)}` : what)
}

export async function inGroups<T>(all: readonly T[], size: number, work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += size) await Promise.all(all.slice(at, at + size).map(work))
}

/** Records the problems of `look` that remain after ten seconds. Some need a moment to go. */
export async function settled(
  world: Pick<World, 'problems'>,
  what: string,
  look: () => Promise<readonly string[]>,
): Promise<void> {
  let left = await look()
  for (let attempt = 0; attempt < 100 && left.length > 0; attempt++) {
    await sleep(100)
    left = await look()
  }
  if (left.length > 0) problem(world, `${what}: ${left.join(', ')}`)
}
