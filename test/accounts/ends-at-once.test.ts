/** Access ends for each request that begins afterwards, in every process, while requests run. */

import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import type { Grove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, there, useTwoServices } from './two-services.ts'

interface Scene {
  readonly here: Grove
  readonly who: PersonClient
}

/** Requests of each kind of client that must have been answered before, and must begin afterwards. */
const enough = 10

describe('access ends at once in two processes', () => {
  useTwoServices()

  const cases: Readonly<Record<string, { tokensToo: boolean; end(scene: Scene): Promise<unknown> }>> = {
    'a logout': {
      tokensToo: false,
      end: ({ who }) =>
        client(here).post('/auth/logout', { refreshToken: who.session.refreshToken }).then(expecting(204)),
    },
    'a change of the password': {
      tokensToo: false,
      end: async ({ who }) => {
        const proof = { old_password: password, new_password: 'staple the horse' }
        await client(here, who.session.accessToken).post('/auth/password', proof).then(expecting(200))
      },
    },
    'an account that is disabled': {
      tokensToo: true,
      end: ({ who }) =>
        updateAccount(
          { ...here.deps, actor: operator },
          { path: { account_id: who.user.id }, body: { disabled: true } },
        ),
    },
    'an account that is deleted': {
      tokensToo: true,
      end: ({ who }) => who.delete('/auth/me', {}, { password }).then(expecting(200)),
    },
  }

  for (const [what, { tokensToo, end }] of Object.entries(cases)) {
    it(`after ${what}`, async () => {
      const who = await signUp(here, what)
      const { token } = (await who.post('/auth/tokens', { name: 'Laptop', access: 'write' }).then(expecting(201))).body
      const secrets = [who.session.accessToken, ...(tokensToo ? [token] : [])]
      const running = new AbortController()
      const accepted: number[] = []
      let steps = 0
      const asking = secrets.flatMap((secret) =>
        [here, there].map(async (service) => {
          const one = client(service, secret)
          let asked = 0
          const loop = async () => {
            while (!running.signal.aborted) {
              const began = steps++
              const { status } = await one.get('/orgs')
              expect(status).to.be.oneOf([200, 401])
              if (status === 200) accepted.push(began)
              asked++
            }
          }
          return { done: loop(), asked: () => asked }
        }),
      )
      const all = await Promise.all(asking)
      const eachHas = (count: number) => () => all.every(({ asked }) => asked() >= count)
      await until(eachHas(enough))
      await end({ here, who })
      const ended = steps
      const most = Math.max(...all.map(({ asked }) => asked()))
      await until(eachHas(most + enough))
      running.abort()
      await Promise.all(all.map(({ done }) => done))
      expect(accepted.length).to.be.at.least(enough * all.length)
      expect(accepted.filter((began) => began >= ended)).to.deep.equal([])
      if (!tokensToo) await client(there, token).get('/auth/me').then(expecting(200))
    })
  }
})
