/** The beginning and end of every storm: a world with nodes to change, and a table of answers. */

import { printTable } from '../bench/report.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { newRules } from './consent.ts'
import { type Counts, createWorld, placeOf, type World } from './world.ts'

const sharedNodes = 3

/** A new organisation at `door`, whose folder is `dataDir`, with nodes that all clients write to. */
export async function beginWorld(
  dataDir: string,
  door: { readonly url: string },
  { name = 'Ann', environment = {} }: { name?: string; environment?: Readonly<Record<string, string>> } = {},
): Promise<World> {
  const ann = await signUp(door, name)
  const { email: reviewer } = (await signUp(door, `${name} too`)).user
  await ann.put(`/orgs/${ann.org}/members/${reviewer}`, { role: 'editor' }).then(expecting(200))
  const world = createWorld({ dataDir, org: ann.org, email: ann.user.email, reviewer, environment })
  const first = newRules(world, 0)
  await ann.patch(`/orgs/${ann.org}`, { rules: first }).then(expecting(200))
  world.rules.push({ rules: first, begun: 0, ended: 0 })
  for (let n = 0; n < sharedNodes; n++) {
    const content = { title: `Shared ${n}`, text_content: 'Whales sing\n', tags: ['sea'] }
    const { id } = (await ann.post(`/orgs/${ann.org}/nodes`, content).then(expecting(201))).body
    world.shared.push({ ...placeOf(world, id), ...nothing() })
  }
  return world
}

const nothing = () => ({
  fresh: [],
  commits: [],
  refused: [],
  requests: [],
  pushed: [],
  reports: [],
  checks: new Map(),
})

/** A fresh access token: one lives for 15 minutes. A service whose index is still being made again is busy until it is whole. */
export async function logIn({ email }: Pick<World, 'email'>, door: { readonly url: string }): Promise<string> {
  let session: Answer | undefined
  await until(async () => {
    session = await client(door).post('/auth/login', { email, password })
    return session.body?.code !== 'busy'
  })
  if (session === undefined) throw new Error('Nobody has answered')
  return expecting(200)(session).body.accessToken
}

export function printCounts({ counts }: Pick<World, 'counts'>): void {
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const total = { acknowledged: 0, unknown: 0, busy: 0 }
  for (const [, { acknowledged, unknown, busy }] of rows) {
    total.acknowledged += acknowledged
    total.unknown += unknown
    total.busy += busy
  }
  console.log()
  printTable([
    ['operation', 'acknowledged', 'unknown', '503 busy'],
    ...[...rows, ['all', total] as const].map(([what, { acknowledged, unknown, busy }]) => [
      what,
      acknowledged.toLocaleString('en'),
      String(unknown),
      String(busy),
    ]),
  ])
  console.log()
}

/** The answers of all of them. */
export function summed(worlds: readonly World[]): Map<string, Counts> {
  const all = new Map<string, Counts>()
  for (const { counts } of worlds)
    for (const [operation, { acknowledged, unknown, busy }] of counts) {
      const sum = all.get(operation) ?? { acknowledged: 0, unknown: 0, busy: 0 }
      all.set(operation, {
        acknowledged: sum.acknowledged + acknowledged,
        unknown: sum.unknown + unknown,
        busy: sum.busy + busy,
      })
    }
  return all
}

/** Says what is wrong, if anything is; the exit code. */
export function verdict(problems: readonly string[]): 0 | 1 {
  const shown = problems.slice(0, 30)
  console.log(problems.length === 0 ? 'Nothing is wrong.' : `${problems.length} problems:\n${shown.join('\n')}`)
  return problems.length === 0 ? 0 : 1
}
