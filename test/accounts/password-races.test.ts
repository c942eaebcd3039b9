/** A password that changes while the former one is checked: nothing that the former one allowed comes after the change. */

import { expect } from 'chai'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { newGate } from '../support/gate.ts'
import type { Grove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, there, useTwoServices } from './two-services.ts'

const new_password = 'staple the horse'
const form = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }

describe('while a password is checked, and another process changes it', () => {
  let count = 0
  let ann: PersonClient

  useTwoServices({ sweeps: false })
  beforeEach(async () => {
    ann = await signUp(here, `Ann ${count++}`)
  })

  /** Each opens a session of its own; the client speaks for it. */
  const ends: Readonly<Record<string, () => Promise<Client>>> = {
    'a change': async () => {
      const { body } = await client(there).post('/auth/login', { email: ann.user.email, password }).then(expecting(200))
      const who = client(there, body.accessToken)
      await who.post('/auth/password', { old_password: password, new_password }).then(expecting(200))
      return who
    },
    'a reset': async () => {
      const { reset_token } = await issueResetToken(there.deps, ann.user.id)
      const answer = await client(there).post('/auth/password', { reset_token, new_password }).then(expecting(200))
      return client(there, answer.body.accessToken)
    },
  }

  interface Late {
    ask(): Promise<Answer>
    readonly status: number
    /** Transactions that come before the one that must see the change. */
    readonly before?: number
  }
  const lates: Readonly<Record<string, Late>> = {
    'a sign-in': {
      ask: () => client(here).post('/auth/login', { email: ann.user.email, password }),
      status: 401,
    },
    'a sign-in by the form': {
      ask: () =>
        client(here).post('/sign-in', new URLSearchParams({ email: ann.user.email, password }).toString(), form),
      status: 403,
    },
    'a sign-in by the form, before it has its cookie,': {
      ask: () =>
        client(here).post('/sign-in', new URLSearchParams({ email: ann.user.email, password }).toString(), form),
      status: 403,
      before: 1,
    },
    'an earlier change, which signs in': {
      ask: async () => {
        const { reset_token } = await issueResetToken(there.deps, ann.user.id)
        return client(here).post('/auth/password', { reset_token, new_password: password })
      },
      status: 401,
      before: 1,
    },
    'a change of the e-mail': {
      ask: () => ann.post('/auth/email', { password, new_email: `thief.${count}@example.org` }),
      status: 401,
    },
    'the deletion of the account': { ask: () => ann.delete('/auth/me', {}, { password }), status: 401 },
    'a new personal access token': {
      ask: () => ann.post('/auth/tokens', { name: 'Thief', access: 'write' }),
      status: 401,
    },
  }

  for (const [end, change] of Object.entries(ends))
    for (const [late, { ask, status, before = 0 }] of Object.entries(lates))
      it(`${late} is refused after ${end}, and leaves nothing`, async () => {
        const held = holdWrites(here, before)
        const asked = ask()
        let who: Client
        try {
          await until(held.isWaiting)
          who = await change()
        } finally {
          held.release()
        }
        expect((await asked).status).to.equal(status)
        expect((await who.get('/auth/sessions').then(expecting(200))).body.total).to.equal(1)
        expect((await who.get('/auth/tokens').then(expecting(200))).body.total).to.equal(0)
        expect((await who.get('/auth/me').then(expecting(200))).body).to.deep.equal(ann.user)
        await who.get(`/orgs/${ann.org}`).then(expecting(200))
      })
})

/** After `before` transactions each one of the service's credentials waits until it is released. */
function holdWrites({ deps: { credentials } }: Grove, before: number) {
  const { write } = credentials
  const gate = newGate()
  let asked = 0
  const held: typeof write = async (work) => {
    if (++asked > before) await gate.opened
    return write(work)
  }
  Object.assign(credentials, { write: held })
  return {
    isWaiting: () => asked > before,
    release: () => {
      Object.assign(credentials, { write })
      gate.open()
    },
  }
}
