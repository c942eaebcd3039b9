/** The oracle of what only credentials have: tokens, sessions and organisations are as acknowledged, and what has ended stays so. */

import { type Answer, type Client, client } from '../support/people.ts'
import { inGroups, problem } from './problems.ts'
import type { OwnOrg, OwnSession, OwnToken, World } from './world.ts'

type Door = { readonly url: string }

/** As `judgeAnswers`: what has ended is looked for once, and in the end. */
export async function judgeCredentials(world: World, door: Door, token: string, all: boolean): Promise<void> {
  const person = client(door, token)
  const due = ({ ended, seen }: OwnToken | OwnSession) => all || ended !== 'done' || !seen
  await inGroups(world.tokens.filter(due), 8, (one) => judgeToken(world, door, one))
  await inGroups(world.sessions.filter(due), 8, (one) => judgeSession(world, door, one))
  await judgeOrgs(world, person)
  await forgetTokens(world, person)
}

async function judgeToken(world: World, door: Door, one: OwnToken): Promise<void> {
  const answer = await client(door, one.secret).get(`/orgs/${world.org}`)
  settle(world, `token ${one.id}`, one, answer, answer.status === 200)
}

/** A session that lives goes on with the tokens that this gets. */
async function judgeSession(world: World, door: Door, one: OwnSession): Promise<void> {
  const opened = await client(door, one.access).get('/auth/me')
  const renewed = await client(door).post('/auth/refresh', { refreshToken: one.refresh })
  const lives = renewed.status === 200
  settle(world, 'a session', one, renewed, lives)
  if (opened.status !== renewed.status) problem(world, 'an access token and its session differ', opened)
  if (!lives) return
  one.access = renewed.body.accessToken
  one.refresh = renewed.body.refreshToken
}

/** 401 is what has ended, or never was. */
function settle(world: World, what: string, one: OwnToken | OwnSession, answer: Answer, lives: boolean): void {
  if (!lives && answer.status !== 401) {
    problem(world, what, answer)
    return
  }
  if (one.ended === 'asked') one.ended = lives ? 'no' : 'done'
  one.seen = one.ended === 'done'
  if (lives !== (one.ended === 'no')) problem(world, `${what} ${lives ? 'was ended and lives' : 'is lost'}`, answer)
}

async function judgeOrgs(world: World, person: Client): Promise<void> {
  const { status, body } = await person.get('/orgs?limit=200')
  if (status !== 200) {
    problem(world, `the organisations: ${status} ${JSON.stringify(body)}`)
    return
  }
  const listed = new Map<string, string>(body.orgs.map(({ id, name }: OwnOrg) => [name, id]))
  for (const org of [...world.orgs]) {
    const found = listed.get(org.name)
    org.id ??= found
    // Nobody was told of it.
    if (org.id === undefined) {
      world.orgs.splice(world.orgs.indexOf(org), 1)
      continue
    }
    if (org.ended === 'asked') org.ended = found === undefined ? 'done' : 'no'
    const shown = await person.get(`/orgs/${org.id}`)
    if ((found === org.id) !== (org.ended === 'no') || shown.status !== (org.ended === 'no' ? 200 : 404))
      problem(world, `${org.name} (${org.id}) is listed as ${found}, deleted: ${org.ended}`, shown)
  }
  const extra = [...listed].filter(([name, id]) => id !== world.org && !world.orgs.some((org) => org.name === name))
  if (extra.length > 0) problem(world, `organisations that nobody has made: ${extra.join('; ')}`)
}

/** Those whose answer is missing: nobody has their secret, and they count towards what a person may have. */
async function forgetTokens({ tokens }: World, person: Client): Promise<void> {
  const { body } = await person.get('/auth/tokens?limit=100')
  const known = new Set(tokens.map(({ id }) => id))
  for (const { id } of body.tokens) if (!known.has(id)) await person.delete(`/auth/tokens/${id}`)
}
