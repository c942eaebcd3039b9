/** Shared by the tests of Git clients: a service, a user, and a desk with Git. */

import { type Desk, newDesk } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove

export let ann: PersonClient

export let desk: Desk

/** A service and a desk of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    desk = await newDesk()
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })
}
