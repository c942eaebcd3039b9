/** A service for each file, and its users. */

import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove
export let ann: PersonClient
export let bob: PersonClient

let at = Date.now()

/** Moves the clock of the service. */
export function pass(seconds: number): void {
  at += seconds * 1_000
}

export function useScene(options: GroveOptions = {}): void {
  before(async () => {
    at = Date.now()
    grove = await startGrove({ now: () => new Date(at), ...options })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
  })
  after(() => grove.close())
}
