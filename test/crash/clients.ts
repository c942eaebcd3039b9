/** The clients of a storm: each does one thing after the other at whichever process lives, and writes down what it was told. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Gate, newGate } from '../support/gate.ts'
import { type Answer, type Client, client } from '../support/people.ts'
import { type Actor, pick } from './actor.ts'
import { act } from './operations.ts'
import { address } from './pushing.ts'
import type { SharedNode, World } from './world.ts'

/** Where a client may ask now; empty while no process lives. */
export type Doors = () => readonly { readonly url: string }[]

export interface Storm {
  /** Every client ends what it is at and waits; nothing is in flight when this resolves. */
  pause(): Promise<void>
  resume(): void
  /** As `pause`, for good. */
  end(): Promise<void>
  /** From now on clients speak with this access token, and reviewers with the other. */
  speak(token: string, reviewer?: string): void
}

export interface StormOptions {
  readonly clients: number
  readonly random: () => number
  /** Answers that mean neither yes nor no, beside 503 `outcome_unknown`: those of a disk that is gone. Default: none. */
  readonly tolerated?: (answer: Answer) => boolean
  /** The access token of a person who reviews. Default: nobody does. */
  readonly reviewer?: string
  /** The codes of a 503 after which nothing has changed. Default: `busy`. */
  readonly refusals?: readonly string[]
  /** The next operation of a client. Default: any. */
  readonly act?: (actor: Actor) => Promise<void>
  /** Milliseconds that a client waits between two operations now, at most. Default: 30. */
  readonly pauseAtMost?: () => number
}

export function startStorm(world: World, doors: Doors, token: string, options: StormOptions): Storm {
  const { clients, random, tolerated = () => false, refusals = ['busy'], pauseAtMost = () => 30 } = options
  let speaking = token
  let { reviewer: reviewing } = options
  let ending = false
  let gate: Gate | undefined
  let working = 0
  const person = (): Client => client(pick(doors(), random) ?? nowhere, speaking)
  const anybody = (): Client => client(pick(doors(), random) ?? nowhere)
  const reviewer = () => (reviewing === undefined ? undefined : client(pick(doors(), random) ?? nowhere, reviewing))
  const remote = ({ id }: SharedNode) => address(pick(doors(), random) ?? nowhere, world, id, speaking)
  const run = async () => {
    const own = { requests: [], nodes: [], branches: [], entries: [], targets: new Map() }
    const actor: Actor = { world, random, person, anybody, reviewer, remote, ...own, tolerated, refusals }
    while (!ending) {
      while (gate) await gate.opened
      if (ending) return
      if (doors().length === 0) {
        await sleep(20)
        continue
      }
      working++
      await (options.act ?? act)(actor)
        .catch((error: unknown) => world.problems.push(`A client broke off: ${error}`))
        .finally(() => working--)
      await sleep(random() * pauseAtMost())
    }
  }
  const all = Array.from({ length: clients }, run)
  const pause = async () => {
    gate ??= newGate()
    while (working > 0) await sleep(5)
  }
  const resume = () => {
    gate?.open()
    gate = undefined
  }
  return {
    pause,
    resume,
    end: async () => {
      await pause()
      ending = true
      resume()
      await Promise.all(all)
    },
    speak: (fresh, other) => {
      speaking = fresh
      reviewing = other
    },
  }
}

const nowhere = { url: 'http://127.0.0.1:9' }
