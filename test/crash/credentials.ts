/** Clients of a storm change data that no repository has: accounts, tokens, sessions, organisations. */

import { password } from '../support/people.ts'
import { type Actor, ask, pick } from './actor.ts'
import type { Deletion } from './world.ts'

/** That live, of all clients. A person may have 100 tokens, of which answers that are missing leave some. */
const tokensAtMost = 30
const sessionsAtMost = 20
const orgsAtMost = 10

/** By weight, as the other operations. */
export const credentialOperations: readonly (readonly [number, (actor: Actor) => Promise<void>])[] = [
  [1, signUp],
  [2, makeToken],
  [1, revokeToken],
  [1, openSession],
  [1, renewSession],
  [1, endSession],
  [1, makeOrg],
  [1, deleteOrg],
]

/** Any client ends what any has made: it is marked before it is asked for, so that none asks twice. */
function living<T extends { readonly ended: Deletion }>(all: readonly T[]): T[] {
  return all.filter(({ ended }) => ended === 'no')
}

async function signUp(actor: Actor): Promise<void> {
  const { world, anybody } = actor
  const email = `c${world.next()}@example.org`
  const { answer, unknown } = await ask(actor, 'sign up', [201], () =>
    anybody().post('/auth/signup', { email, password, name: email }),
  )
  if (answer || unknown) world.accounts.push({ email, unsure: unknown, seen: false })
}

async function makeToken(actor: Actor): Promise<void> {
  if (living(actor.world.tokens).length >= tokensAtMost) return
  const name = `token-${actor.world.next()}`
  const { answer } = await ask(actor, 'make a token', [201], () =>
    actor.person().post('/auth/tokens', { name, access: 'read' }),
  )
  if (answer) actor.world.tokens.push({ id: answer.body.id, secret: answer.body.token, ended: 'no', seen: false })
}

async function revokeToken(actor: Actor): Promise<void> {
  const one = pick(living(actor.world.tokens), actor.random)
  if (!one) return
  one.ended = 'asked'
  const { answer, unknown } = await ask(actor, 'revoke a token', [204], () =>
    actor.person().delete(`/auth/tokens/${one.id}`),
  )
  if (!unknown) one.ended = answer ? 'done' : 'no'
}

async function openSession(actor: Actor): Promise<void> {
  const { world, anybody } = actor
  if (living(world.sessions).length >= sessionsAtMost) return
  const { answer } = await ask(actor, 'log in', [200], () =>
    anybody().post('/auth/login', { email: world.email, password }),
  )
  if (answer)
    world.sessions.push({
      access: answer.body.accessToken,
      refresh: answer.body.refreshToken,
      ended: 'no',
      seen: false,
    })
}

/** One whose answer is missing is forgotten: later than half a minute its former token ends the session. */
async function renewSession(actor: Actor): Promise<void> {
  const one = pick(living(actor.world.sessions), actor.random)
  if (!one) return
  const { sessions } = actor.world
  sessions.splice(sessions.indexOf(one), 1)
  const { answer, unknown } = await ask(actor, 'renew a session', [200], () =>
    actor.anybody().post('/auth/refresh', { refreshToken: one.refresh }),
  )
  if (answer) sessions.push({ ...one, access: answer.body.accessToken, refresh: answer.body.refreshToken })
  else if (!unknown) sessions.push(one)
}

async function endSession(actor: Actor): Promise<void> {
  const one = pick(living(actor.world.sessions), actor.random)
  if (!one) return
  one.ended = 'asked'
  const { answer, unknown } = await ask(actor, 'log out', [204], () =>
    actor.anybody().post('/auth/logout', { refreshToken: one.refresh }),
  )
  if (!unknown) one.ended = answer ? 'done' : 'no'
}

async function makeOrg(actor: Actor): Promise<void> {
  if (living(actor.world.orgs).length >= orgsAtMost) return
  const name = `org-${actor.world.next()}`
  const { answer, unknown } = await ask(actor, 'make an organisation', [201], () =>
    actor.person().post('/orgs', { name }),
  )
  if (!answer && !unknown) return
  actor.world.orgs.push({ name, id: answer?.body.id, ended: 'no' })
}

async function deleteOrg(actor: Actor): Promise<void> {
  const one = pick(living(actor.world.orgs), actor.random)
  if (one?.id === undefined) return
  one.ended = 'asked'
  const { answer, unknown } = await ask(actor, 'delete an organisation', [204], () =>
    actor.person().delete(`/orgs/${one.id}`),
  )
  if (!unknown) one.ended = answer ? 'done' : 'no'
}
